"""What names say of the tools of strangers: only what plainly reads runs unasked."""

from typing import Any

import pytest

from toolcrib.tools.definitions import asks_by, risk_by
from toolcrib.tools.tool import Risk
from toolcrib.tools.verbs import Effect, effect_of

NAMES = {
    Effect.READS: "get_user listPets read_query search-files git_log git_diff_unstaged get_post list_issue_comments "
    "list_deleted_files getUSDRate fetch what_time directory_tree fileRead list_orders buscar_cliente lire_fichier "
    "zeige_termine найти_файл 查询订单 検索",
    Effect.CHANGES: "create_issue write_query run_query postMessage order_pizza get_and_update move_file open_nodes "
    "enviar_correo datei_speichern ecrire_note отправить 创建订单 送信 readAndSend cancel_order",
    Effect.DESTROYS: "bulk_delete user-remove deleteUser deleteall getAndDelete drop_table clear_cache rm purgeQueue "
    "benutzer_löschen loesche_datei supprimer_fichier eliminarUsuario apagar_tudo cancella_file usun_plik "
    "удалить_файл 删除用户 削除 사용자삭제 hapus_data",
    Effect.UNKNOWN: "echo 42 query sequentialthinking undelete git_branch helper",
}


@pytest.mark.parametrize(("effect", "name"), [(effect, name) for effect in NAMES for name in NAMES[effect].split()])
def test_a_verb_counts_wherever_it_stands_and_in_several_languages(effect: Effect, name: str) -> None:
    assert effect_of(name) is effect


@pytest.mark.parametrize(
    ("name", "hints", "unapproved", "approved"),
    [
        ("get_user", {}, False, False),
        ("get_user", {"readOnlyHint": False}, True, True),
        ("get_user", {"destructiveHint": True}, True, True),
        ("echo", {}, True, True),
        ("echo", {"readOnlyHint": True}, True, False),  # believed once the definition is approved
        ("write_query", {"destructiveHint": False}, True, True),
        ("write_query", {"readOnlyHint": True}, True, False),
        ("bulk_delete", {"readOnlyHint": True}, True, True),  # its name says more than its hint
    ],
)
def test_what_does_not_plainly_read_asks(name: str, hints: dict[str, Any], unapproved: bool, approved: bool) -> None:
    assert asks_by(name, hints) is unapproved
    assert asks_by(name, hints, believed=True) is approved


def test_what_destroys_is_destructive_whatever_the_hints_say() -> None:
    assert risk_by("bulk_delete", {"readOnlyHint": True}) is Risk.DESTRUCTIVE
    assert risk_by("echo", {"readOnlyHint": True}) is Risk.SAFE
    assert risk_by("echo") is Risk.MODERATE
