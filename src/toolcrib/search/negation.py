"""What a request asks for, without what it forbids: "publish the post, but don't mail anybody" is to publish a post.

Rules, no model: a clause is left out when it forbids something in a form that is hard to mistake, as commands do.
"I can't find my invoice" and "orders that were not paid" forbid nothing, and are kept whole.
"""

import re
from functools import cache, lru_cache

from toolcrib.search.text import words

# A clause ends at a mark, or before a word that turns to something else.
_ENDS = re.compile(
    r"""
      \s*[,.;:!?…\n\r—–،؛۔।。，、；！？]+(?:\s+|$|(?<=[。，、；！？])) | \s+-\s+
    | \s+(?=(?:but|although|though|aber|sondern|mais|pero|però|ma|mas|maar|men|ale|lecz|но|але|однако|ama|fakat
            |dar|de\ ne)\s)
    | \s+(?=(?:and|so|or)\s+(?:please\s+)?(?:do\s+not|don['’]?t|never)\s)
    | \s+(?=(?:et|y|e|en|und|i|a|og|och)\s+(?:ne\s|n['’]|no\s|non\s|não\s|nie\s|niet\s|ikke\s|inte\s))
    | \s+(?=ولا\s+ت) | (?<=[\u0e00-\u0e7f])\s+(?=[\u0e00-\u0e7f])
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What may stand before the verb of a command.
_LEADS = r"""
    (?:(?:please|pls|ok|okay|and|but|so|or|also|just|actually|hey|then|now|no|nope|for\ now|whatever\ you\ do
            |thanks)\s+)*
"""
# Verbs of a feeling or a state: "don't forget to ...", "don't worry", "don't know which ..." forbid no errand.
_KEPT = (
    "forget|worry|hesitate|mind|know|care|have|want|need|see|think|like|get|understand|remember|work|panic|let|wait|"
    "guess|ask"
)
_ENGLISH = rf"""
      ^{_LEADS}(?:do\s+not|don['’]?t|never(?!\s+(?:ever|in|too|again|called|used|been|had)\b)
              |let['’]?s\s+not)\s+(?:you\s+)?(?!(?:{_KEPT}|be)\b|ever\s+mind)\w
    | ^{_LEADS}(?:there['’]?s\s+|there\s+is\s+)?no\s+(?:need|point)\b
    | ^{_LEADS}no\s+(?!(?:idea|clue|rush|hurry|worries|wonder|matter|problem|one|longer|more|less|later|doubt)\b)
        (?:[\w'’-]+\s+){{1,6}}(?:please|needed|necessary|required|thanks|thank\s+you)\b
    | ^please\s+no(?:t\s+another)?\s+\w | ^{_LEADS}nobody\s+(?:should\s+)?(?:merge|start|touch|upload|roll|send
            |change|delete|close|post|book|call)\w*\b
    | \b(?:needn['’]t|need\s+not)\b | ^(?:you|we|i)\s+(?:do\s+not|don['’]?t|won['’]?t)\s+(?:have|need)\s+to\b
    | ^i\s+(?:do\s+not|don['’]?t)\s+want\s+(?:you|anyone|anybody|any)\b
    | ^{_LEADS}leave\s.+\s(?:alone|as\s+(?:it|they|is)\b.*|(?:right\s+)?where\s+(?:it|they)\s.+|in\s+peace)$
    | ^{_LEADS}(?:never\s*mind|(?:scrap|scratch)\s+that$|hold\s+off|forget\s+(?:about|it)|you\s+can\s+(?:skip
            |leave))\b
"""
_GERMAN = r"""
      ^(?!.*\b(?:ich|wir|was|warum|wieso|wo|wann|wer|es|sie|er|man|das|die|noch\snicht\s\w+t)\b)
        (?:.*\b(?:bitte|nein|lass|für)\b.*\b(?:nicht|nichts|kein(?:e[nmrs]?)?)\b.* | .*\b(?:nicht|nichts
                |kein(?:e[nmrs]?)?)\b.*\w(?:en|ern|eln)$)
    | ^(?:bitte\s+)?\w+\s+(?:bitte\s+)?(?:nichts?|kein(?:e[nmrs]?)?)\b.*\w(?:en|ern|eln)$
    | ^(?:aber\s+)?\w+(?:e|t)?\s+(?:den|dem|der|die|das|ihn|sie|es|mir|ihm|ihr)?\s*(?:\w+\s+)?nicht$
    | \b(?:du\s+brauchst|ihr\s+braucht|sie\s+brauchen)\s+(?:\w+\s+)*(?:nichts?|kein\w*)\b | \blass\w*\s.+\s(?:so
            |wie)\b
"""
_NORDIC = r"""
      ^(?:men\s+|og\s+|och\s+|nej,?\s+|vær\s+så\s+snill\s+|snälla\s+)?
        (?!(?:jag|vi|det|den|han|hon|du|ni|de|jeg|hun|man|varför|hvorfor|kan|får|har|vill|vil|är|er|fungerar
                |virker|var|om|så|som|der)\s)
        \w+\s+(?:\w+\s+)?(?:inte|ikke|ikkje|ingen|inga|inget|intet)\b
    | \blad\s+(?:endelig\s+)?være\s+med\s+at\b | \blåt\s+bli\b | \bla\s+være\s+å\b
    | \bdu\s+(?:behöver\s+inte|behøver\s+ikke|trenger\s+ikke)\b
"""
_DUTCH = r"""
      ^(?!.*\b(?:ik|wij|we|wat|waarom|waar|wanneer|wie|het|ze|hij|er|kan)\b)(?:nee,?\s+|maar\s+|bitte\s+
              |graag\s+)?.*\b(?:niet|niks|niets|geen)\b.*\w(?:en|aan|doen)$
    | ^nee\b.*\b(?:niet|niks|niets|geen)\b | \b(?:hoeft|hoef\s+je|hoeven)\s+(?:\w+\s+)*(?:niet|geen)\b
    | ^\w+\s+(?:nu|maar|nog)\s+(?:niks|niets|niet|geen)\b | \blaat\s.+\b(?:maar\s+(?:zo|staan)|zoals)\b
"""
_ROMANCE = r"""
      ^(?:(?:surtout|non|et|mais|s['’]il\s+te\s+plaît|alors)\s+)*n(?:e\s+|['’])(?!(?:oublie|oubliez
              |t['’]inquiète)\b)\w
    | ^(?:mais\s+|non\s+|surtout\s+)?pas\s+(?:la\s+peine|besoin)\b | ^(?:non\s+)?pas\s+de\s.+\s(?:merci|pour)\b
    | ^(?:(?:y|pero|por\s+favor|ni)\s+)*no\s+(?:(?:me|te|se|lo|la|le|les|los|las|nos)\s+)*
        (?!(?:tienes|puedes|sabes|quieres|eres|estás|ves|debes|has|olvides|dudes|es|más|menos|tres|dos|las
                |los)\b)\w+(?:es|as|éis|áis)\b
    | ^(?:y\s+|pero\s+)?no\s+(?:hace\s+falta|es\s+necesario|quiero\s+que|necesito\s+que)\b
    | ^(?:(?:e|ma|per\s+ora|oggi|stasera|anzi|no)\s+)*non\s+(?:\w+\s+)?\w+(?:are|ere|ire|ar|er|ir)(?:[mtcv]i
            |l[oaie]|gli|ne)?\b(?<!volere)
    | ^(?:ma\s+)?non\s+(?:serve|occorre|c['’]è\s+bisogno|importa\s+che)\b | ^(?:stasera\s+|oggi\s+)?niente\s+\w+
    | ^(?:(?:e|mas|por\s+favor|por\s+agora)\s+)*não\s+(?:(?:me|te|se|o|a|lhe|nos)\s+)*
        (?!(?:funciona|abre|chega|aparece|esta|está|tem|dá|é|foi|sei|veio|entra|vai|pode|deu|quero|sabes|tens
                |podes|há|era|mais|esquece|esqueças|consigo|recebi|lembra|liga\s+mais)\b)\w+(?:a|e|as|es|em|am)\b
    | ^(?:mas\s+)?não\s+(?:precisa|é\s+preciso|é\s+necessário|quero\s+que)\b
    | ^(?:dar\s+|mai\s+bine\s+)?nu\s+(?:mai\s+)?(?:(?:îi|îl|le|o|ii|mi)\s+)?
        (?!(?:merge|pot|știu|stiu|am|ai|are|este|e|găsesc|gasesc|funcționează|vreau|mă|uita|se|vine|văd|vad)\b)\w+
    | ^nu\s+(?:e\s+nevoie|este\s+nevoie|trebuie\s+să)\b
"""
_SLAVIC = r"""
      ^(?:(?:ale(?:\s+\w+)?|i|proszę|nic|nikomu|nikogo|niczego|jeszcze|nie)\s+)*nie,?\s+(?!(?:zapomnij|martw|mogę
              |wiem)\b)\w+(?:aj|uj|ij|yj|ej|ów|rz|sz|cz|łącz|ż|ź|dź|ń)(?:my|cie)?\b(?<!masz)(?<!możesz)(?<!wiesz)
    | \bnie\s+(?:trzeba|musisz|potrzeba|ma\s+potrzeby)\b
    | ^(?:(?:ale|a|prosím|nic|nikomu)\s+)*(?!nech\w*\b|než\b|nej\w*\b|nezapomeň\b|nezabudni\b)ne[^\W\d]{2,}(?:ej
            |uj|š|ď|ť|ň|j)(?:te|me)?\b
    | ^(?:(?:но|и|а|пожалуйста|пока|никому|никого|ничего|нет)\s+|(?:\w+\s+){1,3})?не\s+(?!(?:забудь|забудьте
            |волнуйся|помни|очень|стоит|знаю)\b)\w+(?:й|йте|и|ите|ь|ьте)\b(?<!ть)(?<!чь)(?<!ли)(?<!ень)
    | \bне\s+(?:надо|нужно|стоит|трябва|треба|потрібно)\b | ^(?:недей|недейте|немој|nemoj|nemojte)\b
    | ^(?:(?:але|і|та|будь\s+ласка|поки|нікому|нічого)\s+)*не\s+(?!(?:забудь|хвилюйся|можу)\b)\w+(?:й|йте|и|іть
            |ь|ьте|став)\b(?<!ть)(?<!ли)
"""
_OTHERS = r"""
      ^(?:و?لا|لا)\s+ت(?!عمل|ظهر|وجد|زال|نس)\w+ | لا\s+داعي | (?:^|\s)אל\s+ת\w+ | (?:^|\s)(?:לא\s+צריך|אין\s+צורך)\s
    | (?:لازم|قرار)\s+نیست | نیازی\s+نیست | (?:^|\s)(?:نکن|نکنید|نزن|نده|نفرست|نذار|نگذار|نگیر|نرو|نبند|نساز
            |نخر)(?:ید)?$
    | (?:^|\s)मत(?:\s|$) | ज़?रूरत\s+नहीं | ও\s+না(?:\s|$) | (?:দরকার\s+নেই|লাগবে\s+না|হবে\s+না)$
    | (?:^|\s)jangan\s | \b(?:nggak|tidak|ga|gak|tak|engga)\s+(?:usah|perlu)\b
    | (?:^|\s)đừng\s | (?:^|\s)không\s+cần\s | ^(?:thôi\s+)?(?:khỏi|khoan)[\s,]
    | อย่า | ไม่ต้อง
    | ^(?:(?:那|你|请|先|都|但|现在)+)?(?:别(?![人的处名家跟])|不要|不用|不必|勿|无需|不需要) | 不用\S{1,3}了$
    | (?:ないで)(?:ください|下さい|くれ|ね|よ|おいて)*$ | なくて(?:も)?(?:いい|大丈夫|よい|結構|構わない)
    | (?:もう|は)いらない
    | (?:하|주|보내|넣|만들|맞추|리)?지\s*(?:마|말)(?:세요|아|라|\s|$) | 안\s+\S+도\s+(?:돼|됩니다) | 필요\s*없
    | ^(?:(?:και|αλλά|παρακαλώ)\s+)*μην?\s+(?!ξεχάσεις|ξεχνάς)\w | \bδεν\s+χρειάζεται\b
    | ^(?:de\s+|és\s+|kérlek\s+)*ne\s+(?!znam\b|mogu\b|vem\b|zdaj\b|sada\b|\w+(?:[ăa]m|em)\b)\w
            | \bnem\s+(?:kell|szükséges)\b | ^(?:älä|älkää)\s | \bei\s+tarvitse\b
    | \bsakın\b | \bgerek\s+yok\b | \bgerekmez\b
"""
# "... without replying": the errand stands before it.
_ASIDE = r"""
      ,?\s+without\s+(?!\w+ing\s+for\b)(?:\w+ly\s+)?\w{2,}ing\b(?:(?!\s(?:and|but|then)\s)[^,.;!?])*
    | ,?\s+(?:sans\s+(?:\w+\s+)?\w+(?:er|ir|re)|sin\s+\w+(?:ar|er|ir)|senza\s+\w+(?:are|ere|ire|ar\w{2})
            |sem\s+\w+(?:ar|er|ir))\b[^,.;!?]*
    | ,?\s+ohne\s+(?:[^,.;!?]+\s)?zu\s+\w+en\b | ,?\s+zonder\s+(?:[^,.;!?]+\s)?te\s+\w+en\b | ,?\s+(?:utan|uden
            |uten)\s+(?:att|at|å)\s+[^,.;!?]*
    | ,?\s+bez\s+\w+(?:ania|enia|cia|ání|ení)\b[^,.;!?]* | ,?\s+(?:دون|بدون)\s+أن\s+[^,.;!?،]*
            | ,?\s+χωρίς\s+να\s+[^,.;!?]*
"""
# A clause behind a forbidden one is an errand when it begins like this, and else tells why.
_TURNS = re.compile(
    r"(?:but|instead|just|only|rather|simply|aber|sondern|nur|mais|juste|pero|sino|solo|sólo|ma|solo|mas|só|maar|men|"
    r"bara|bare|ale|tylko|lecz|но|только|лишь|але|тільки|ama|sadece|dar|doar|αλλά|μόνο)\b",
    re.IGNORECASE,
)
# What is said before it: "no, don't".
_INTERJECTION = re.compile(
    r"(?:(?:no+|nah|nope|oh|hey|please|stop|hold\s+(?:it|on)|hang\s+on|nein|doch|halt|moment|non|nee|joh|não|nie|nej|нет|ні|stai|"
    r"laat\s+maar|anzi|nggak\s+jadi|khoan|thôi|نه|לא|नहीं|না|아니|いや|不)[\s,.!…]*)+",
    re.IGNORECASE,
)
# Without one of these there is nothing to look for, which is most requests.
_HINTS = """
    don dont t not never no nobody nevermind needn without leave scrap scratch forget hold skip nicht nichts
    kein keine keinen keiner keinem keines lass ohne n ne non pas sans sin não niente senza sem nu nie bez
    niet niks niets geen laat hoeft zonder inte ingen inga inget ikke ikkje intet lad låt la utan uden uten
    не без недей недейте немој nemoj nemojte لا ولا دون بدون نیست نیازی نکن نکنید نزن نده نفرست نذار نگذار
    نگیر نرو نبند نساز نخر אל לא אין मत नहीं না নেই jangan usah perlu đừng không khỏi khoan μη μην δεν χωρίς
    nem älä älkää ei sakın gerek gerekmez
"""
_HINT_WORDS = frozenset(_HINTS.split())
_HINT_RUNS = re.compile("[别不勿无]|อย่า|ไม่ต้อง|ない|なく|いらない|지|필요|안 ")


def _may_forbid(request: str) -> bool:
    spoken = words(request)
    if not _HINT_WORDS.isdisjoint(spoken) or any(word.startswith("ne") for word in spoken):
        return True
    return not request.isascii() and _HINT_RUNS.search(request) is not None


@cache  # late: most processes never meet a negation, and compiling takes as long as a hundred searches
def _forbidding() -> re.Pattern[str]:
    kinds = (_ENGLISH, _GERMAN, _NORDIC, _DUTCH, _ROMANCE, _SLAVIC, _OTHERS)
    return re.compile("|".join(f"(?:{kind})" for kind in kinds), re.IGNORECASE | re.VERBOSE)


@cache
def _aside() -> re.Pattern[str]:
    return re.compile(_ASIDE, re.IGNORECASE | re.VERBOSE)


@lru_cache(maxsize=256)  # one search asks twice
def wanted(request: str) -> str:
    """The request without what it forbids; empty when it only forbids, itself when it forbids nothing."""
    if not _may_forbid(request):
        return request
    kept, interjections, place, left_out = list[str](), list[str](), 0, False
    for end in [*_ENDS.finditer(request), None]:
        stop = end.start() if end else len(request)
        clause, mark = request[place:stop], end.group() if end else ""
        place = end.end() if end else stop
        spoken = clause.strip(" '\"“”„«»()…-")
        if _INTERJECTION.fullmatch(spoken):
            interjections.append(clause + mark)
        elif spoken and not mark.strip().startswith("?") and _forbidding().search(spoken):
            left_out = True
        elif spoken and (not left_out or kept or _TURNS.match(spoken)):
            kept += [*interjections, clause + mark]
            interjections = []
    if left_out and not kept:
        return ""
    text = "".join(kept) if left_out else request
    return text if text.rstrip().endswith("?") else _aside().sub("", text).strip() or request
