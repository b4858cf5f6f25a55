"""The set that rules and gazetteer were made from: templates, names of the census, formats of our own."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping
from functools import lru_cache

from sdg.experiments.bench.privacy.filling import Instruction, fill

TEMPLATES = (
    "Log in as <user> with the password <password>",
    'Enter the username "<user>" and the password "<password>" into the form and press login',
    "Sign in to the bank, user name <user>, password: <password>, then open the Statements tab",
    "Change the password of my account to <password> and click Save",
    "My wifi password is <password>, connect the tablet to it",
    "Use the PIN <pin> to unlock the phone",
    "Type <pin> into the field security code and continue",
    "Send an email to <email> with the subject Meeting notes",
    "Forward the last message from <name> to <email>",
    "Reply to <name> and say that the budget is fine",
    "Call <name> on <phone>",
    "Create a contact named <name> with the phone number <phone> and the email <email>",
    "Text <phone>: I will be 10 minutes late",
    "Save <name>'s new number, it is <phone>",
    "Ship the order to <address> and pay with the card <card>, CVV <cvv>",
    "Change my delivery address to <address>.",
    "<name> lives at <address>, add that to her card",
    "Order two pizzas to <address> at 7 pm",
    "Set the date of birth to <dob> in my profile",
    "Book a room for <name>, born on <dob>, for 3 nights in Rome",
    "Transfer 250 euros to <name>, IBAN <iban>, reference rent March",
    "Pay the invoice 1187 from account number <account>",
    "Fill the form: first name <first>, last name <last>, email <email>, phone <phone>",
    "Enter the passport number <passport> and the name <name> for the second passenger",
    "My social security number is <ssn>, put it into the tax form",
    "Paste the API key <key> into the Settings page of Notion",
    "Set the access token to <key> and restart the service",
    "Invite <name> and <name> to the party on Friday, 12 June",
    "Ask Dr. <last> for an appointment next Tuesday at 14:30",
    "Hi, I'm <name>, please cancel my membership, member ID <account>",
    "Share the file Budget 2026.xlsx with <email> and <email>",
    "Look for flights from Berlin to New York on 3 May 2027 for under 400 dollars",
    "Open Google Maps and search the nearest Italian restaurant",
    "Set an alarm for 6:45 and turn on Do Not Disturb",
    "Add milk, 12 eggs and bread to the list Weekend in Google Keep",
    "Play the album Blue Train and set the volume to 40 percent",
    "Click on the third item in the table and press Delete",
    "Sort the products by price and put the cheapest Samsung monitor into the cart",
    "Unsubscribe <email> from the newsletter of Best Buy",
    "Find the mail of <name> about the Lisbon trip and archive it",
    "Remind <first> to water the plants",
    "The password for the router at home is <password>. Open its page and log in.",
    "Put <password> into the password field and <user> into the login field",
    "Write to <foreign> that her parcel comes on Thursday",
    "Meet <foreign> at <street>, the taxi should be there at 8:15",
    "Add <foreign>, <phone2>, to the emergency contacts",
    "<foreign> has moved. The new address is <street>",
    "Check in <foreign> for flight LH 1234 to Munich, passport <passport>",
    "Find the nearest pharmacy to <street> and call it",
    "My username is <user>, I forgot the password: request a new one at <email>",
    "Dial <phone2> and put it on speaker",
    "Rename the folder Holiday 2025 to Summer in Italy",
    "Change the language of the app to French and restart it",
    "Turn the brightness up to 80 percent, then open Netflix and watch Breaking Bad",
    "Move the event Team Lunch from Wednesday to Friday at 1 pm",
    "Delete the note called Ideas and the two drafts below it",
    "Rate the order 5 stars and comment: Great service, will come again",
    "Mark <foreign> as a favourite and block <phone2>",
    "Verify my identity with the last four digits <pin> and the birthday <dob>",
    "Sign in to the shop as <plainuser> with <password>",
    "The credentials of the camera are <plainuser> / <password>, switch it off",
    "Log me in, my user name is <plainuser> and my password is <password>.",
    "Connect to the database with user <plainuser> and password <password>",
    "The new passphrase should be <password>",
    "Register the user <plainuser>, mail <email>",
    "Unlock the tablet with <pin> and open the gallery",
    "If it asks for the confirmation code, it's <pin>.",
    "Message <foreign> on WhatsApp that I'm on my way",
    "Start a chat with <foreign> and attach the report",
    "Send 20 dollars to <foreign> with PayPal",
    "Look up <foreign> from Bosch on the web and save the page",
    "Show the medical record of <foreign> (born <dob2>)",
    "Print the ticket of <foreign>, <street>",
    "Change the owner of the file Plan from <foreign> to <name>",
    "My husband <foreign> was born on <dob2>, update the form",
    "Choose <dob2> as date of birth and Austria as the country",
    "Put <street> as the billing address and continue",
    "Let the parcel come to <street> after 5 pm",
    "Plan a route from the airport to <street>",
    "Use the card <card2>, valid until 04/29, CVC <cvv>",
    "Wire 80 euros from <account> to <iban> (<foreign>)",
    "Set the deploy key to <key2> and commit",
    "Replace the token by <key2> in the file settings.py",
    "My neighbour <foreign> can be reached at <phone3>",
    "Her mobile is <phone3>, his is <phone3>",
    "Reserve a table for <foreign> and me at the Blue Lagoon on Sunday",
    "Tell the plumber <foreign> at <phone3> that the sink leaks",
    "Sign the review with <foreign>: lovely place, quiet rooms",
    "Memo: <foreign>'s train arrives at 9:12 on platform 4",
    "Search for running shoes below 100 euros and add the first Adidas pair to the basket",
    "Read me the first paragraph of the article on the Treaty of Versailles",
    "In Google Sheets, multiply column B of the sheet Prices April by 2",
    "Buy two tickets for the evening show of Les Miserables in row 5",
    "Compare the Galaxy Tab with the iPad Air at Media Markt",
    "Open the file plan_v3.blend and export it as a PDF",
    "What time is it in Buenos Aires right now?",
    "Update the driver's license number to <passport> and the policy number to <account>",
    "In Slack, write to <first> that the build of version 2.14 is done",
)


HEX = "0123456789abcdef"
FOREIGN = (
    "Nguyen Van An", "Björn Åkesson", "José Luis García", "Zoë O'Neill", "Jean-Pierre Lefèvre", "Mohammed al-Rashid",
    "Wei Zhang", "Priya Raghunathan", "Oluwaseun Adeyemi", "Kateryna Shevchenko", "Ludwig van der Meer", "Yuki Tanaka",
    "Nikolaj Ravn", "Agnieszka Wójcik-Zielińska", "Ruud ter Steege", "Dewi Kusumawati", "Gökhan Öztürk", "Radek Beneš",
    "Siiri Kärkkäinen", "Ștefan Ungureanu", "Maite Etxeberria", "Anaïs Thévenot", "Lorenzo Dell'Acqua",
    "Vikram Subramanian",
    "Søren Kierulff", "Ioannis Papadakis", "Çağla Yıldız", "Thandiwe Nkosi", "Ewa Wiśniewska", "Aroha Ngata",
)  # fmt: skip
STREETS = (
    "Hauptstraße 5, 10115 Berlin", "18 rue des Lilas, 69003 Lyon", "Calle Mayor 22, 28013 Madrid", "Via Roma 3, Torino",
    "ul. Długa 7, 00-238 Warszawa", "Keizersgracht 123, 1015 CJ Amsterdam", "Storgatan 14 B, Uppsala",
    "Flat 3, 9 Mill Lane", "Piata Unirii 4, Cluj 400113", "Gl. Kongevej 88, 1850 Frederiksberg",
    "Jl. Sudirman No. 12, Jakarta",
    "Rua das Flores, 45, 4050-262 Porto", "Mannerheimintie 5 A 7, 00100 Helsinki", "Nerudova 231/12, 118 00 Praha",
    "Atatürk Cad. 19, 34710 Kadıköy", "Studio 18, Reid avenue, Port Hughborough, B4C 6TT",
    "PO Box 448, Darwin, NT 0801",
    "H.No. 56, MG Road, Pune 411001", "Corso Garibaldi 81 Piano 2, 80055 Portici (NA)",
    "774 Kerr Station Suite 9, East Toddside, MT 59001",
)  # fmt: skip


@lru_cache(maxsize=1)
def _census() -> tuple[list[str], list[str]]:
    from importlib import resources

    def read(name: str) -> list[str]:
        lines = (resources.files("names") / name).read_text("ascii").splitlines()
        return [line.split()[0].title() for line in lines]

    return [*read("dist.female.first")[:1500], *read("dist.male.first")[:800]], read("dist.all.last")[:5000]


def _odd_values(
    rng: random.Random, digits: Callable[[int], str], letters: Callable[..., str]
) -> Mapping[str, Callable[[], str]]:
    """Formats and names of other countries."""
    return {
        "foreign": lambda: rng.choice(FOREIGN),
        "street": lambda: rng.choice(STREETS),
        "phone2": lambda: rng.choice(["+33 6 12 34 56 78", "0171 2345678", "030/1234567", "+91 98765 43210"]),
        "plainuser": lambda: rng.choice(["annsmith", "tkowalski", "hugo.lopez", f"maria{digits(2)}",
    "wolf_77"]),
        "phone3": lambda: rng.choice(
            ["(089) 123456", "+31 (0)20 123 4567", "0611 223 344", "555.201.3344x12", "+62 812-3456-789"]
        ),
        "card2": lambda: rng.choice(["6011111111111117", "30569309025904", "3530 1113 3330 0000", "4222222222222"]),
        "dob2": lambda: rng.choice(["03.11.1984", "1984/11/03", "3 Nov 1984", "Nov. 3, 1984", "11/03/84",
    "3rd November 1984"]),
        "key2": lambda: rng.choice(
            [f"{letters(8, HEX)}-{letters(4, HEX)}-{letters(4, HEX)}-{letters(4, HEX)}-{letters(12, HEX)}", letters(40, HEX)]  # noqa: E501
        ),
    }  # fmt: skip


def values(rng: random.Random) -> Mapping[str, Callable[[], str]]:
    """A maker for each kind of value."""
    firsts, lasts = _census()

    def digits(n: int) -> str:
        return "".join(rng.choices(string.digits, k=n))

    def letters(n: int, of: str = string.ascii_letters + string.digits) -> str:
        return "".join(rng.choices(of, k=n))

    def first() -> str:
        return rng.choice(firsts)

    def last() -> str:
        return rng.choice(lasts)

    def phone() -> str:
        a, b, c = f"{rng.randint(201, 989)}", f"{rng.randint(200, 999)}", digits(4)
        return rng.choice(
            [f"{a}-{b}-{c}", f"({a}) {b}-{c}", f"+1 {a} {b} {c}", f"{a}.{b}.{c}", f"+44 20 {digits(4)} {c}"]
        )

    def address() -> str:
        street = f"{rng.randint(1, 999)} {last()} {rng.choice(['Street', 'Ave', 'Road', 'Lane', 'Drive', 'Blvd.'])}"
        city = rng.choice(["Springfield, IL 62704", "Portland", "Leeds LS2 9JT", "Austin, TX 78701"])
        return rng.choice([street, f"{street}, {city}", f"{street}, Apt {rng.randint(1, 40)}, {city}"])

    def dob() -> str:
        day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(1940, 2010)
        name = ["January", "May", "August", "November"][month % 4]
        return rng.choice(
            [f"{year}-{month:02}-{day:02}", f"{day}/{month}/{year}", f"{name} {day}, {year}", f"{day} {name} {year}"]
        )

    return {
        **_odd_values(rng, digits, letters),
        "first": first,
        "last": last,
        "name": lambda: f"{first()} {last()}",
        "user": lambda: rng.choice(
            [f"{first()}{digits(2)}".lower(), f"{first()[0]}{last()}".lower(), f"{first()}_{last()}".lower()]
        ),
        "password": lambda: rng.choice([letters(10), f"{last()}{digits(3)}!", f"{letters(4)}-{letters(4)}"]),
        "pin": lambda: digits(rng.choice([4, 6])),
        "cvv": lambda: digits(3),
        "email": lambda: f"{first().lower()}.{last().lower()}@{rng.choice(['example.com', 'mail.org', 'acme.co.uk'])}",
        "phone": phone,
        "address": address,
        "card": lambda: rng.choice(["4111 1111 1111 1111", "5555555555554444", "4012-8888-8888-1881"]),
        "iban": lambda: rng.choice(["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19"]),
        "account": lambda: digits(rng.randint(7, 10)),
        "passport": lambda: f"{letters(1, 'CLMP')}{digits(8)}",
        "ssn": lambda: f"{rng.randint(100, 665)}-{rng.randint(10, 99)}-{digits(4)}",
        "key": lambda: rng.choice([f"sk-{letters(24)}", letters(32, "0123456789abcdef"), f"ghp_{letters(30)}"]),
        "dob": dob,
    }  # fmt: skip


def instructions(count: int, seed: int) -> list[Instruction]:
    """So many instructions of this set."""
    return fill(TEMPLATES, values, count=count, seed=seed)
