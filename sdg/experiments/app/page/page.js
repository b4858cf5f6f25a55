"use strict";
const at = (id) => document.getElementById(id);
const ask = async (path, body = {}) => {
  const reply = await fetch(path, { method: "POST", body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(await reply.text());
  const said = await reply.json();
  if (said.fault) throw new Error(said.fault);
  return said;
};
const make = (tag, text, className = "") => Object.assign(document.createElement(tag), { textContent: text, className });
const row = (cells) => { const tr = document.createElement("tr"); tr.append(...cells); return tr; };
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const show = (place, text, bad = false) => { at(place).textContent = text; at(place).className = bad ? "bad" : ""; };

const verdict = (found) => found
  ? make("td", `${found[1] ? "yes" : "no"} (${found[0]})${found[2] ? ": " + found[2] : ""}`, found[1] ? "good" : "bad")
  : make("td", "-");

at("ask").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  at("episode").hidden = true;
  show("outcome", "The robot is at work ...");
  try {
    const found = await ask("/instruct", Object.fromEntries(new FormData(event.target)));
    const why = found.note || found.cause || found.error;
    const steps = `${found.steps} ${found.steps === 1 ? "step" : "steps"}`;
    show("outcome", `${found.instruction}: ${found.outcome} after ${steps}${why ? " (" + why + ")" : ""}`, found.outcome !== "solved");
    if (found.film) at("film").src = found.film;
    const begins = Math.max(found.program.lastIndexOf("def program("), 0);
    at("program").textContent = found.program.slice(begins).trim() || "no program";
    at("whole").textContent = found.program;
    at("calls").replaceChildren(...found.calls.map((call) => row([
      make("td", `${call.name}(${call.argument})`), verdict(call.verdicts[0]), verdict(call.verdicts[1]), make("td", call.steps),
    ])));
    at("episode").hidden = false;
  } catch (error) {
    show("outcome", error.message, true);
  }
  button.disabled = false;
});

const look = async () => {
  try {
    const found = await ask("/look", Object.fromEntries(new FormData(at("ask"))));
    at("ask").elements.instruction.placeholder = found.instruction;
    at("film").src = found.picture;
    at("film").hidden = false;
    at("episode").hidden = true;
    show("outcome", "");
  } catch (error) {
    show("outcome", error.message, true);
  }
};
for (const name of ["level", "seed"]) at("ask").elements[name].addEventListener("change", look);

const draw = (points) => {
  const most = Math.max(...points.map((each) => each.environment_steps), 1);
  const x = (each) => 40 + 350 * each.environment_steps / most;
  const y = (each) => 140 - 130 * each.validation_success;
  const line = points.map((each, number) => `${number ? "L" : "M"}${x(each)} ${y(each)}`).join("");
  at("curve").innerHTML = `<line x1="40" x2="390" y1="140" y2="140"/><line x1="40" x2="40" y1="10" y2="140"/>
    <text x="2" y="16">100 %</text><text x="16" y="143">0 %</text><text x="390" y="160" text-anchor="end">${most.toLocaleString("en")} steps of practice</text>
    <path d="${line}"/>`;
  at("curve").toggleAttribute("hidden", !points.length);
};

at("learn").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  try {
    let found = await ask("/train", Object.fromEntries(new FormData(event.target)));
    while (!found.done) {
      const last = found.points.at(-1);
      show("learned", last ? `Learning: ${percent(last.validation_success)} of held-out layouts` : "Learning ...");
      draw(found.points);
      await new Promise((later) => setTimeout(later, 300));
      found = await ask("/curve");
    }
    draw(found.points);
    show("learned", found.skill);
  } catch (error) {
    show("learned", error.message, true);
  }
  button.disabled = false;
});

ask("/about").then((found) => {
  for (const select of document.querySelectorAll("select"))
    select.append(...found.levels.map((level) => new Option(level, level, level === "GoToLocal", level === "GoToLocal")));
  at("functions").append(...found.functions.map((each) => make("li", each)));
  look();
  at("skills").append(...found.skills.map((skill) => {
    const details = document.createElement("details");
    const used = skill.used ? `; in use ${skill.worked} of ${skill.used} calls worked` : "";
    details.append(
      make("summary", `${skill.name}: ${skill.episodes ? `${percent(skill.success)} of ${skill.episodes} starts` : "not measured by itself"}${used}`),
      make("p", skill.description), make("h3", "Checks"), ...skill.checks.map((source) => make("pre", source)),
      make("h3", "Members"), make("p", skill.members.join("; ")),
    );
    return details;
  }));
  at("run").textContent = found.run ? `${found.run}: ${found.episodes.length} episodes` : "No run: sdg app RUN shows one.";
  at("episodes").append(...found.episodes.map((each) => row([
    make("td", each.level), make("td", each.instruction), make("td", each.agent),
    make("td", each.success ? "yes" : each.cause || "no", each.success ? "good" : "bad"), make("td", each.steps),
  ])));
}).catch((error) => show("outcome", error.message, true));
