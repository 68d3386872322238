def count_boxes(shelf: int) -> int:
    """Count the boxes on a shelf."""
    return 3 * shelf


def move_box(box: int, shelf: int) -> str:
    """Move a box to another shelf."""
    return f"Box {box} is on shelf {shelf}."
