from __future__ import annotations

from sidrec.models.lcrec import lessons


def test_the_next_item_is_asked_behind_every_item():
    lesson = lessons.next_item([7, 3, 5])
    assert lesson.prompt == ("A customer chose these items one after the other:", 7)
    assert lesson.answer == (3, 5)
    assert lessons.asked([7, 3, 5]) == (*lesson.prompt, *lesson.answer)  # a request is a lesson that goes on


def test_ids_and_titles_are_named_by_each_other():
    assert lessons.title_of_id(4, "Red lamp").prompt == ("What is the title of this item?", 4, "Title:")
    assert lessons.title_of_id(4, "Red lamp").answer == ("Red lamp",)
    assert lessons.id_of_title("Red lamp", 4).prompt == ("Which item has this title?", "Red lamp", "Item:")
    assert lessons.id_of_title("Red lamp", 4).answer == (4,)


def test_histories_are_told_in_titles_and_answered_by_an_id():
    lesson = lessons.id_behind_titles(["Red lamp", "Kettle"], 9)
    assert lesson.prompt == ("A customer chose items with these titles:", "Red lamp", ";", "Kettle", "Next item:")
    assert lesson.answer == (9,)


def test_histories_of_ids_are_answered_by_a_title():
    lesson = lessons.title_behind_ids([4, 2], "Kettle")
    assert lesson.prompt == ("A customer chose these items one after the other:", 4, 2, "Title of the next one:")
    assert lesson.answer == ("Kettle",)


def test_an_intention_is_the_items_own_text_without_its_title():
    text = "Red lamp. Warm light for a desk."
    assert lessons.intention_of("Red lamp", text) == "Warm light for a desk"
    assert lessons.intention_of("Red lamp", "Red lamp") == "Red lamp"
    lesson = lessons.id_of_intention("Warm light for a desk", 4)
    assert lesson.prompt == ("A customer looks for this:", "Warm light for a desk", "Fitting item:")
    assert lesson.answer == (4,)
