"""The one wording of a refused argument."""


def invalid(argument, expected, received):
    """A ValueError naming the argument, what was expected and what came.

    Long values are cut so that a whole corpus never lands in a message.
    """
    shown = repr(received)
    if len(shown) > 200:
        shown = shown[:200] + "..."
    return ValueError(
        f"Invalid value received for argument `{argument}`. "
        f"Expected {expected}. Received: {argument}={shown}"
    )
