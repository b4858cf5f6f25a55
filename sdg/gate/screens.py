"""Guards for screens: learned ones over pixels and the parsed screen, and one that asks a person before anything that
can't be undone. Commands are in words (`click`, `type`) or at coordinates; the page's source is never read.

Answers keep the form of ResponsibleTA's own models: `<s_feasibility> 1 </s_feasibility>` (section 4.1).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from unicodedata import category, normalize

import numpy as np

from sdg.envs.ui.affordances import (
    CLICK,
    POINTING,
    TYPE,
    TYPING,
    ScreenAffordances,
    SeenScreen,
    asked_for,
    near,
)
from sdg.envs.ui.captions import at_point
from sdg.envs.ui.commands import SCREEN
from sdg.envs.ui.effects import changes
from sdg.envs.ui.page import Press
from sdg.envs.ui.parser.screen import ScreenElement
from sdg.envs.world import Observation
from sdg.gate.executor import CONFIRMATION, Command, Verdict
from sdg.gate.learned import SHIPPED, LearnedGuard
from sdg.gate.phones import element_of
from sdg.gate.rules import Usage

PLACE = SHIPPED.parent / "screens.json"
"""The guards that come with the package; `python -m tests.shipping.screens` trains them again."""
JUDGED = (CLICK, TYPE, *POINTING, TYPING)
"""Commands that the learned guards judge; others pass."""
CERTAIN = (*JUDGED, "SCROLL_UP_COORDS", "SCROLL_DOWN_COORDS")
UNCHANGED = "nothing on the screen changed"
LEAST_CHANCE: Mapping[bool, float] = {True: 0.5, False: 0.1}
"""Chances below which a verdict is no, for commands in words and at coordinates, which name no element."""
_FINAL = """
send buy purchase pay order checkout delete remove erase trash discard publish post transfer donate book reserve
unsubscribe withdraw wipe purge destroy uninstall pledge senden absenden abschicken schicken versenden kaufen
bezahlen zahlen bestellen bestelle buchen entfernen spenden enviar envía envia envíe mandar comprar compra pagar
paga pague eliminar elimina borrar borra suprimir reservar reserva publicar donar pujar envoyer envoie envoyez
acheter achetez payer payez commander commandez supprimer supprimez effacer retirer résilier réserver réservez
publier transférer enchérir excluir exclua apagar apague deletar remover encomendar doar licitar invia inviare
spedisci acquista acquistare pagare eliminare cancella rimuovi prenota pubblica trasferisci dona verzend verzenden
verstuur versturen koop kopen betaal betalen bestel verwijder verwijderen boeken reserveren reserveer opzeggen
overmaken plaatsen doneer doneren wyślij wyslij wysłać kup kupuję kupić zapłać zapłacić płacę zamów zamawiam usuń
usun usunąć skasuj zarezerwuj opublikuj przelej wypłać licytuj отправь купить купи куплю оплатить оплати заплатить
заказать заказываю стереть перечислить пожертвовать gönder satın öde ödeme sipariş sil kaldır yayınla bağışla kirim
beli bayar hapus mua
"""
FINAL = frozenset(_FINAL.split())
"""Words on an element that is only pressed with a person's yes, in the languages that most pages are in."""
STEMS = (
    "zahlungspflicht", "kostenpflicht", "lösch", "überweis", "kündig", "veröffentlich", "stornier", "désabonn",
    "отправи", "отправл", "удал", "заброни", "опублик", "расторг", "gönderi", "gönderm", "silme", "siliyor",
)  # fmt: skip
"""Beginnings of such words."""
_SIGNS = """
gửi xóa xoá thanhtoán đặthàng 发送 發送 傳送 送出 购买 購買 支付 付款 删除 刪除 移除 清空 下单 下單 预订 預訂 发布
發佈 转账 轉帳 捐款 注销 出价 送信 購入 支払 削除 消去 注文する 注文を確定 予約する 投稿する 公開する 振込 寄付 解約
退会 入札 買う 보내기 전송 구매 결제 삭제 주문하기 예약하기 게시하기 송금 기부 탈퇴 제거 ارسال إرسال أرسل خرید
پرداخت حذف احذف شراء اشتر ادفع الدفع احجز اطلب تحويل إزالة سفارش भेजें खरीदें भुगतान हटाएं हटाएँ मिटाएं 🗑 🚮 📤 💸
"""
SIGNS = tuple(_SIGNS.split())
"""Such words of scripts that don't part words, or join them with others, and pictures: they count anywhere."""
NOUNS = frozenset(
    {"order", "book", "post", "transfer", "trash", "checkout", "purchase", "reserve", "reserva", "compra"}
)
"""Words of FINAL that begin the name of a thing, too: a row that begins so isn't final for that."""
_YES = """
yes ja oui sí si sim да так evet tak ok okay confirm confirmed continue proceed agree accept sure really please go
ahead i am m want to now bestätigen weiter fortfahren confirmar continuar confirmer continuer conferma continua
bevestigen doorgaan potwierdź potwierdzam kontynuuj подтвердить подтверждаю продолжить onayla devam はい 确定 確定
确认 確認 確認する 是 是的 نعم تأكيد بله تایید 예 네 확인 हाँ हां vâng có xác nhận permanently
"""
YES = frozenset(_YES.split())
"""Words of a button that agrees to what is asked around it."""
DONE = frozenset({"deleted", "deleting", "removed", "sent", "erased", "charged", "paid", "published", "gelöscht"})
"""Words of a dialog about what a yes makes final."""
ENDING = frozenset({
    "cancel", "close", "deactivate", "empty", "end", "leave", "revoke", "terminate", "place", "raise", "сделать",
})  # fmt: skip
"""Words that are harmless alone ("Cancel" leaves a dialog), but final beside one of OWNED."""
OWNED = frozenset({
    "account", "bid", "bin", "booking", "contract", "membership", "order", "plan", "policy", "profile", "registration",
    "reservation", "subscription", "trash", "ставку",
})  # fmt: skip
FINAL_ICONS = FINAL | {"plane", "bin", "rubbish", "sendmail"}
"""The same for names of icons: a paper plane sends."""
PRESSING = ("Tap", "Long Press")
"""A phone's actions that press something (`sdg.envs.phone.actions`)."""
MOST_LABEL_WORDS, MOST_BUTTON_WORDS, SIGNS_A_WORD = 3, 6, 4
"""Most words of a label, and of what the page itself calls a button; more is prose, unless it begins with a final one.
Signs that make up a word where nothing parts words."""
_NAMELESS = """
btn button icon icons ico svg img image primary secondary default small medium large outline action actions control
"""
NAMELESS = frozenset(_NAMELESS.split())
"""Names of an icon that say nothing about it, and so do those of one or two letters."""


class ScreenGuard(LearnedGuard):
    """The learned guards of screens: is what a command names there, and does its effect show."""

    source = "screens"

    def __init__(self, *, place: Path = PLACE) -> None:
        super().__init__({}, ScreenAffordances(), place=place)
        self.usages = USAGES

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses a command that names nothing on the screen. Raises ValueError without a screenshot."""
        return super().feasible(command, _as_screen(observation))

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Rejects a command that left no trace at its target. Raises ValueError without screenshots.

        A command at coordinates can't reach another element than intended, so on pages unlike those learned from the
        guard only judges what is certain: whether anything changed. For commands in words it judges that first.
        """
        then, now = _pixels(before), _pixels(after)
        if command.name in CERTAIN and then.shape[:2] != (SCREEN, SCREEN):
            changed = then.shape != now.shape or bool(changes(then, now).any())
            if not changed or command.name not in (CLICK, TYPE):
                return Verdict(changed, "the screen changed" if changed else UNCHANGED, 1.0, self.source)
        shifted, found = screens_as_learned(command, before, after)
        verdict = _placed(super().complete(shifted, *found), shifted, command)
        return verdict if verdict.passed else replace(verdict, reason=f"{verdict.reason}; a guess: look at the screen")

    def least_chance(self, verb: str, command: Command) -> float:
        """0.5 for commands in words; at coordinates 0.1, so that only hopeless ones are refused."""
        return LEAST_CHANCE[command.name in (CLICK, TYPE)]


def _pixels(seen: Observation) -> np.ndarray:
    return cast(SeenScreen, _as_screen(seen).perception).picture


class _Usages(dict[str, Usage]):
    def __missing__(self, name: str) -> Usage:
        return Usage()


USAGES = _Usages({name: Usage(asks=frozenset({name})) for name in JUDGED})


def screens_as_learned(command: Command, *moments: Observation) -> tuple[Command, list[Observation]]:
    """The command and observations with their screens as snapshots; screens larger than those learned from are cut to
    what lies around the command's target, and its point moves accordingly. Raises ValueError without a screenshot."""
    if all(isinstance(each.perception, SeenScreen) for each in moments):
        return command, list(moments)
    screens = [cast(SeenScreen, _as_screen(each).perception) for each in moments]
    argument, screens = near({command.name} & set(JUDGED), command.argument, *screens)
    return Command(command.name, argument), [
        Observation(each.text, screen.picture, tuple(screen.parsed), screen)
        for each, screen in zip(moments, screens, strict=True)
    ]


def _as_screen(seen: Observation) -> Observation:
    if isinstance(seen.perception, SeenScreen):
        return seen
    if not isinstance(seen.image, np.ndarray):
        raise ValueError("an observation without its screenshot can't be judged")
    return Observation(seen.text, seen.image, seen.elements, SeenScreen(seen.image, cast(Any, seen.elements)))


def _placed(verdict: Verdict, shifted: Command, command: Command) -> Verdict:
    """The verdict, whose reason names the command itself, not the shifted one."""
    return replace(verdict, reason=verdict.reason.replace(str(shifted), str(command)))


class ConfirmGuard:
    """Asks before a press that can't be undone; `confirm` is asked in words and says whether to go on.

    Without `confirm` the answer is no. `asked` counts the questions. `presses` names what a command presses where the
    picture doesn't show it: icons without words, Enter in a form.
    """

    source = CONFIRMATION
    kind = "rules"

    def __init__(
        self, confirm: Callable[[str], bool] | None = None, presses: Callable[[Command], Press] | None = None
    ) -> None:
        self._confirm, self._presses, self.asked = confirm, presses, 0

    def feasible(self, command: Command, observation: Observation) -> Verdict:
        """Refuses a final press unless `confirm` agrees."""
        label = (final_press(self._presses(command)) if self._presses else "") or final_label(command, observation)
        if not label:
            return Verdict(True, "nothing final", source=self.source)
        self.asked += 1
        if self._confirm is not None and self._confirm(f"{command} presses {label}: go on?") is True:
            return Verdict(True, f"{label} was confirmed", source=self.source)
        return Verdict(False, f"{label} can't be undone and wasn't confirmed", source=self.source)

    def complete(self, command: Command, before: Observation, after: Observation) -> Verdict:
        """Passes; nobody is asked afterwards."""
        return Verdict(True, "nothing to confirm", source=self.source)


def final_label(command: Command, observation: Observation) -> str:
    """The final press that a command makes: its element's name, or the command's own words; "" if it makes none."""
    elements = cast(tuple[ScreenElement, ...], observation.elements)
    if command.name in PRESSING:
        pressed = element_of(command, elements)
        at = re.fullmatch(r"(\d+),(\d+)", command.argument)
        there = pressed or (at_point((int(at[1]), int(at[2])), elements) if at else None)
        labels = [cast(ScreenElement, there).text] if there else []
    elif command.name in (CLICK, *POINTING):
        phrase, found = asked_for({command.name}, command.argument, elements)
        labels = [phrase.words, *([found[0].caption.words] if found else [])]
    else:
        return ""
    for label in labels:
        words = label.lower().replace("!", " ").replace(".", " ").split()
        if len(words) <= MOST_LABEL_WORDS and _is_final(words):
            return f"{label[:60]!r}"
    return ""


def final_press(press: Press) -> str:
    """What a press would do for good, by the words or labels on it, by the dialog that it agrees to, or by its icon; ""
    for nothing.

    A picture without any words may be a final button, and so may an element that nobody can see.
    """
    if press.unseen:
        return "what has the focus, which nobody can see"
    for text in (press.words, *press.labels.split("\n")):
        if _is_final_text(text, press.role):
            return repr(text[:60])
    words, hints = _words(press.words or press.labels), _words(press.hints)
    if words and set(words) <= YES and _asks(press.dialog):
        return f"{press.words!r} to {press.dialog[:60]!r}"
    if _words(press.words):
        return ""
    if FINAL_ICONS & set(hints):
        return f"an icon ({' '.join(hints)[:60]})"
    named = any(each not in NAMELESS and (len(each) > 2 or not each.isascii()) for each in hints)
    return "a picture without words" if press.picture and press.role == "button" and not named else ""


def _is_final_text(text: str, role: str) -> bool:
    """Whether the words on an element of this role are final: few with such a word, or any number that begin so."""
    words, joined = _words(text), "".join(text.split())
    most = MOST_BUTTON_WORDS if role == "button" else MOST_LABEL_WORDS
    if len(words) <= most and _is_final(words):
        return True
    if joined.startswith(SIGNS) or (len(joined) <= most * SIGNS_A_WORD and any(each in joined for each in SIGNS)):
        return True
    return role in ("button", "control") and _begins_final(words, but=frozenset() if role == "button" else NOUNS)


def _begins_final(words: Sequence[str], but: frozenset[str] = frozenset()) -> bool:
    first = next((place for place, word in enumerate(words) if word not in YES), len(words))
    begins = [each for each in words[first : first + 1] if each not in but]
    return _is_final(begins) or (bool(ENDING & set(begins)) and bool(OWNED & set(words)))


def _asks(dialog: str) -> bool:
    """Whether a dialog's text begins a line with a final word, or asks about one."""
    words = _words(dialog)
    final = any(each in "".join(dialog.split()) for each in SIGNS) or _is_final(words) or bool(DONE & set(words))
    return (final and bool(re.search("[?？؟]", dialog))) or any(
        _begins_final(_words(line), but=NOUNS) or "".join(line.split()).startswith(SIGNS)
        for line in dialog.splitlines()
    )


def _is_final(words: Sequence[str]) -> bool:
    final = FINAL & set(words) or any(each.startswith(STEMS) for each in words)
    return bool(final or (ENDING & set(words) and OWNED & set(words)))


def _words(text: str) -> list[str]:
    """Its words in small letters; invisible signs within them don't count."""
    shown = "".join(each for each in normalize("NFKC", text) if category(each) != "Cf")
    return re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", shown).lower())
