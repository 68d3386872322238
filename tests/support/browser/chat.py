"""What a user does in the chat, and what they see."""

from playwright.sync_api import Locator, Page


def say(page: Page, text: str) -> Locator:
    """Say something and wait until the answer is there; gives the turn."""
    turns = page.locator(".turn").count()
    page.get_by_label("Your message").fill(text)
    page.keyboard.press("Enter")
    return finished(page, turns)


def finished(page: Page, number: int) -> Locator:
    """The turn with this number, from 0, when it is over."""
    turn = page.locator(".turn").nth(number)
    turn.locator(".turn-foot").wait_for()
    return turn
