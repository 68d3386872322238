"""Mail, chat and what is announced to all."""

from typing import Annotated, Literal

from pydantic import Field

from toolcrib import tool

sent: list[dict[str, str]] = []


@tool
def send_mail(
    to: Annotated[str, Field(description="An e-mail address.")], subject: str, body: str = ""
) -> dict[str, str]:
    """Send an e-mail to one person."""
    sent.append({"id": f"mail-{len(sent) + 1}", "to": to, "subject": subject, "body": body})
    return sent[-1]


@tool
def search_mail(words: str, folder: Literal["inbox", "sent", "archive"] = "inbox") -> list[dict[str, str]]:
    """Search your mailbox for letters that contain some words."""
    return [mail for mail in sent if words.lower() in f"{mail['subject']} {mail['body']}".lower()]


@tool
def post_chat(channel: str, text: str) -> str:
    """Post a message in a chat channel of the team."""
    return f"#{channel}: {text}"


@tool
def announce(text: str) -> str:
    """Publish an announcement on the front page of the intranet."""
    return f"On the front page: {text}"


@tool
def translate_text(text: str, language: Annotated[str, Field(description="Such as `German` or `de`.")]) -> str:
    """Translate a text into another language."""
    return f"[{language}] {text}"
