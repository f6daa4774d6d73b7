"""``setveil table METHOD``: every scheme on the lecture's patients, and what is refused."""

import json

import pytest
from typer.testing import CliRunner

from setveil.cli import app
from setveil.cli.table import COMMANDS
from setveil.tabular.files import read_frame
from setveil.tabular.generalization import JOBS, patients

GENERALIZING = ["full-domain", "subtree", "sibling", "cell", "mondrian"]
SUPPRESSING = ["suppress-records", "suppress-values", "suppress-cells"]
QUASI = ["--quasi", "Job", "--quasi", "Sex", "--quasi", "Age"]
TREES = ["--hierarchy", "Job=jobs.csv", "--hierarchy", "Age=10"]


class Folder:
    """The patients on disk, and commands run beside them."""

    def __init__(self, folder):
        self.folder = folder
        patients().write_csv(folder / "patients.csv")
        edges = "".join(f"{child},{parent}\n" for child, parent in JOBS.items())
        (folder / "jobs.csv").write_text(edges, encoding="utf-8")

    def __call__(self, *args):
        return CliRunner().invoke(app, [*args])


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


def made(clinic, *args):
    done = clinic("table", *args)
    assert done.exit_code == 0, done.stderr
    return done


@pytest.mark.parametrize("method", [*GENERALIZING, *SUPPRESSING])
def test_what_is_written_is_2_anonymous(clinic, method):
    trees = TREES if method in GENERALIZING else []
    done = made(clinic, method, "patients.csv", *QUASI, *trees, "--k", "2", "-o", "o.csv", "--json")
    told = json.loads(done.stdout)
    frame = read_frame(clinic.folder / "o.csv")
    assert told["method"] == method
    assert told["rows"] == len(frame)
    assert told["rows_before"] == 7
    assert told["classes"] == frame.select("Job", "Sex", "Age").n_unique()
    assert frame.group_by("Job", "Sex", "Age").len()["len"].min() >= 2
    assert told["promise"] == "every row is like at least 1 others in Job, Sex, Age"


def test_the_table_alone_goes_to_stdout(clinic):
    done = made(clinic, "subtree", "patients.csv", *QUASI, *TREES, "--k", "2", "-o", "-")
    assert done.stdout.splitlines()[:2] == ["Job,Sex,Age,Disease", "Dancer,Female,[30-40),HIV"]
    assert len(done.stdout.splitlines()) == 8


def test_groups(clinic):
    (clinic.folder / "p.csv").write_text("Age,Pay\n1,10\n2,20\n3,30\n4,40\n", encoding="utf-8")
    args = ["p.csv", "--sensitive", "Pay", "--l", "2"]
    done = made(clinic, "anatomize", *args, "-o", "rows.csv", "--sensitive-out", "values.csv")
    assert "promise: no value of Pay has more than one in 2 of a group's rows" in done.stdout
    rows = read_frame(clinic.folder / "rows.csv")
    values = read_frame(clinic.folder / "values.csv")
    assert rows.columns == ["Age", "group"]
    assert sorted(values["Pay"]) == [10, 20, 30, 40]
    made(clinic, "permute", *args, "--spread", "15", "-o", "mixed.csv", "--seed", "1")
    mixed = read_frame(clinic.folder / "mixed.csv")
    assert sorted(mixed["Pay"]) == [10, 20, 30, 40]


@pytest.mark.parametrize(("method", "column"), [("noise", "Age"), ("swap", "Job")])
def test_what_promises_nothing_says_so(clinic, method, column):
    args = [method, "patients.csv", "--column", column, "--share", "0.5", "-o"]
    done = made(clinic, *args, "changed.csv")
    assert "promise: none" in done.stdout
    told = json.loads(made(clinic, *args, "again.csv", "--json").stdout)
    assert told["promise"] is None


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["subtree", "patients.csv", "--quasi", "Job", "--k", "8"], "the data has only 7 records"),
        (["cell", "patients.csv", "--quasi", "Town"], "no columns are called 'Town'"),
        (["cell", "none.csv", "--quasi", "Job"], "none.csv"),
        (["cell", "patients.csv", "--quasi", "Job", "--hierarchy", "Job"], "COLUMN=FILE"),
        (["cell", "patients.csv", "--quasi", "Age", "--hierarchy", "Age=10,15"], "multiple"),
        (["cell", "patients.csv", "--quasi", "Job", "--hierarchy", "Job=no.csv"], "no.csv"),
        (["anatomize", "patients.csv", "--sensitive", "Disease", "--sensitive-out", "x"], "HIV"),
        (["anatomize", "patients.csv", "--sensitive", "Disease", "--sensitive-out", "o"], "two"),
        (["swap", "patients.csv", "--column", "Job", "--share", "2"], "share is 2.0"),
        (["noise", "patients.csv", "--column", "Job"], "holds no numbers"),
        (["suppress-records", "patients.csv", "--quasi", "Job", "--k", "3"], "no 3 rows are alike"),
        (["melt", "patients.csv"], "no scheme 'melt'"),
    ],
)
def test_wrong_use_is_one_message(clinic, args, said):
    done = clinic("table", *args, "-o", "o")
    assert done.exit_code == 2
    assert said in done.stderr
    assert not (clinic.folder / "o").exists()


def test_nothing_is_replaced_without_force(clinic):
    args = ["table", "suppress-values", "patients.csv", "--quasi", "Job", "--k", "2", "-o"]
    assert clinic(*args, "o.csv").exit_code == 0
    assert "--force" in clinic(*args, "o.csv").stderr
    assert clinic(*args, "o.csv", "--force").exit_code == 0
    assert clinic(*args, "patients.csv", "--force").exit_code == 2


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "check"])
def test_help_lines_are_those_of_the_commands(clinic, name):
    line = COMMANDS[name].__doc__.partition("\n")[0]
    for args in (["table", "--help"], ["table", name, "--help"]):
        assert line in " ".join(clinic(*args).stdout.split())


def test_two_tables_need_two_files(clinic):
    (clinic.folder / "link.csv").symlink_to("same.csv")
    for other in ("same.csv", "./same.csv", str(clinic.folder / "same.csv"), "link.csv"):
        ask = ["--sensitive", "Disease", "--l", "1", "-o", "same.csv", "--sensitive-out", other]
        done = clinic("table", "anatomize", "patients.csv", *ask, "--force")
        assert done.exit_code == 2
        assert "both tables would go to" in done.stderr
    assert not (clinic.folder / "same.csv").exists()


@pytest.mark.parametrize("method", ["cell", "suppress-cells"])
def test_a_seed_repeats_what_is_drawn(clinic, method):
    rows = [f"Engineer,{number}" for number in range(5)] + ["Lawyer,9"]
    (clinic.folder / "jobs.txt").write_text("\n".join(["Job,Pay", *rows]), encoding="utf-8")
    tree = ["--hierarchy", "Job=jobs.csv"] if method == "cell" else []

    def shown(*more):
        ask = [method, "jobs.txt", "--quasi", "Job", *tree, "--k", "2", "-o", "-", "--quiet"]
        return made(clinic, *ask, *more).stdout

    assert len({shown("--seed", "1") for _ in range(4)}) == 1
    assert len({shown("--seed", str(seed)) for seed in range(12)}) > 1
    assert len({shown() for _ in range(20)}) > 1


def test_a_value_of_a_column_of_decimals(clinic):
    (clinic.folder / "v.csv").write_text("q,s\na,1.0\na,1.0\na,2.5\n", encoding="utf-8")
    ask = ["--quasi", "q", "--sensitive", "s", "--h", "1/2"]
    done = clinic("table", "check", "confidence-bounding", "v.csv", *ask, "--value", "1")
    assert done.exit_code == 1
