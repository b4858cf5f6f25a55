// What was done on a page: `acts` are the data-do of what was pressed, `value(name)` what stands in a field.
const acts = [];
document.addEventListener('click', event => {
  const node = event.target.closest('[data-do]');
  if (!node) return;
  event.preventDefault();
  acts.push(node.dataset.do);
  node.classList.add('done');
  const shown = node.dataset.shows && document.getElementById(node.dataset.shows);
  if (shown) shown.hidden = !shown.hidden;
});
document.addEventListener('submit', event => event.preventDefault());
const did = (...names) => names.every(name => acts.includes(name)) && acts.every(act => names.includes(act) || !act.includes(':'));
const value = name => {
  const node = document.querySelector(`[name="${name}"]:checked`) || document.querySelector(`[name="${name}"]`);
  return /checkbox|radio/.test(node.type) ? (node.checked ? node.value : '') : node.value.trim();
};
