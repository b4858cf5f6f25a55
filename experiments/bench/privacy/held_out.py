"""Other templates, names and formats than the rules were first made from: held out for the first evaluation alone.

Values come from Faker in eighteen locales; of its names only those are used of which no part is in the gazetteer
(`known=True` takes all). Since then development templates paraphrase some of these: see docs/decisions.md, "Privacy".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from sdg.experiments.bench.privacy.filling import Instruction, fill
from sdg.gate.privacy.words import census

LOCALES = (
    "en_US", "en_GB", "en_AU", "en_IN", "de_DE", "fr_FR", "es_ES", "it_IT", "pl_PL", "pt_BR", "nl_NL", "sv_SE", "tr_TR",
    "cs_CZ", "fi_FI", "id_ID", "ro_RO", "da_DK",
)  # fmt: skip

DATES = ("%d.%m.%Y", "%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%m/%d/%y")

TEMPLATES = (
    "Please log me into the university portal. My user name is <user> and my password is <password>.",
    "Open the Wells Fargo app, sign in as <user> with <password>, and tell me my checking balance",
    'Fill out the registration form with user "<user>", e-mail "<email>" and passphrase "<password>", then hit'
    " Register.",
    "Reset my Spotify password; the new one should be <password>",
    "The router's admin login is <user> / <password>. Turn off the guest network.",
    "unlock the screen with <pin>",
    "When it asks for the verification code, enter <pin>.",
    "Compose a new message to <email>, cc <email>, subject: Quarterly numbers",
    "Look for the email <name> sent me last week and forward it to <email>",
    "I need to reach <name>. Her mobile is <phone>. Please text her that I am running late.",
    "Ring <phone> and ask whether the garage is open on Saturday",
    "Add a new contact: <name>, <phone>, <email>",
    "Delete <name> from my contacts and block <phone>",
    "Start a video call with <name> and share the screen",
    "Send $40 to <name> on Venmo for the concert",
    "Wire 1,200 EUR from my savings account <account> to <iban> (<name>)",
    "Pay with the Visa ending in the usual digits, or if that fails use <card>, expiring 09/28, security code <cvv>",
    "Store the credit card <card> in my Amazon account",
    "Have the groceries delivered to <address> between 5 and 6 pm",
    "Get me an Uber from the station to <address>",
    "Update my billing address: <address>",
    "Print a shipping label for <name>, <address>",
    "My wife <name> was born on <dob>; add her to the insurance",
    "Enter <dob> as the birth date and choose Germany as the country",
    "Find <name> in the patient list and open the record (date of birth <dob>)",
    "Renew the passport <passport> online and pay the fee",
    "The SSN is <ssn>. Fill it into box 4 of the form and go to the next page.",
    "Replace the key in config.yaml by <key> and push the commit to GitHub",
    "Log in to the API console with the token <key> and list all projects",
    "RSVP yes for <name> and me to the wedding on 18 July",
    "Ask <name> if the slides for the Tuesday standup are ready",
    "Set up a meeting with <name>, <name> and the design team for next Monday at 10 in the Blue Room",
    "Note to self: <name>'s flight lands at 17:45 in Terminal 2",
    "Write a review of the restaurant Golden Dragon: friendly staff, 4 stars, signed <name>",
    "Search LinkedIn for <name> from Siemens and send a connection request",
    "Create the customer <name> with phone <phone> in Salesforce",
    "Book the 9:40 train to Manchester for passenger <name>, e-mail <email>",
    "Type <email> into the newsletter box and untick the checkbox below",
    "Tell the landlord <name> at <phone> that the heating is broken",
    "Change the owner of the document Roadmap 2027 from <name> to <email>",
    "Reorder the printer cartridges and use my customer number <account>",
    "Check the status of claim 2231 for policy number <account>",
    "Search for wireless headphones under 80 dollars, sort by rating and add the first Sony model to the basket",
    "Turn on airplane mode, wait ten seconds, and turn it off again",
    "In Excel, sum up column C of the sheet Expenses March and write the result to cell F2",
    "Open Wikipedia, look up the Battle of Hastings and tell me the year",
    "Put two tickets for the Saturday show of The Lion King into the cart, row 12 if possible",
    "Translate the second paragraph into Portuguese and save it as a draft",
    "Download the latest version of Blender and open the file castle_v12.blend",
    "Play the podcast Hardcore History from episode 62 on and set a sleep timer of 45 minutes",
    "Compare the prices of the Galaxy S30 and the Pixel 12 on Best Buy",
    "Scroll down to the comments and like the top three",
    "What is the weather going to be like in Copenhagen on Thursday afternoon?",
)


def values(known: bool) -> Callable[[random.Random], Mapping[str, Callable[[], str]]]:
    """Makers of values by Faker; names that the gazetteer has are left out where it isn't `known`."""

    def makers(rng: random.Random) -> Mapping[str, Callable[[], str]]:
        from faker import Faker

        fakers = [Faker(locale) for locale in LOCALES]
        for number, each in enumerate(fakers):
            each.seed_instance(rng.randrange(2**31) + number)
        listed = frozenset().union(*census())

        def some() -> Faker:
            return rng.choice(fakers)

        def name() -> str:
            while True:
                each = some()
                said = f"{each.first_name()} {each.last_name()}"
                if known or not listed.intersection(said.lower().replace("-", " ").split()):
                    return said

        return {
            "name": name,
            "user": lambda: some().user_name(),
            "email": lambda: some().email(),
            "password": lambda: some().password(length=rng.randint(8, 14), special_chars=rng.random() < 0.6),
            "pin": lambda: str(rng.randint(1000, 999999)),
            "cvv": lambda: some().credit_card_security_code(),
            "phone": lambda: some().phone_number(),
            "account": lambda: some().bban() if rng.random() < 0.3 else str(rng.randint(10**6, 10**9)),
            "iban": lambda: some().iban(),
            "card": lambda: some().credit_card_number(),
            "address": lambda: some().address().replace("\n", ", "),
            "dob": lambda: some().date_of_birth().strftime(rng.choice(DATES)),
            "passport": lambda: some().passport_number(),
            "ssn": lambda: fakers[0].ssn(),
            "key": lambda: rng.choice([some().sha1(), some().uuid4(), "ghp_" + some().password(36, False)]),
        }  # fmt: skip

    return makers


def instructions(count: int, seed: int, *, known: bool = False) -> list[Instruction]:
    """So many instructions of this set. Raises ImportError without Faker."""
    return fill(TEMPLATES, values(known), count=count, seed=seed)
