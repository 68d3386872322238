"""Words of a request that point at no tool."""

# English request words that say nothing about the tool. Other languages' are rare in tool texts, so they match nothing.
_FILLERS = """
    a an and any are as at be been but by can could did do does for from give had has have help how i if in into
    is it its let like make me my need of on or our please should so some tell that the their them then there these
    they this to us want was we were what when where which who will with would you your
"""
FILLERS = frozenset(_FILLERS.split())
