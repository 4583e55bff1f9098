import pytest

from bers.progress import progress_bar


def test_a_bar_goes_to_standard_error_only(capsys):
    with progress_bar("[b]work[/b]", 4, show=True) as advance:
        for _ in range(4):
            advance(loss=0.123456, name="[red]x")
    out, err = capsys.readouterr()
    assert out == ""
    assert "[b]work[/b]" in err
    assert "100%" in err
    assert "loss 0.1235" in err
    assert "name [red]x" in err


@pytest.mark.parametrize("show", [None, False])
def test_no_bar_in_a_log_file(capsys, show):
    with progress_bar("work", 4, show=show) as advance:
        advance(4, loss=1.0)
    assert capsys.readouterr() == ("", "")
