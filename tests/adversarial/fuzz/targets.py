"""All that is fuzzed, with the share of each in a million inputs."""

from tests.adversarial.fuzz.archives import INDEXES, KEYS
from tests.adversarial.fuzz.audits import AUDITS
from tests.adversarial.fuzz.guesses import GUESSES
from tests.adversarial.fuzz.lists import LISTS
from tests.adversarial.fuzz.readers import READERS
from tests.adversarial.fuzz.releases import RELEASES
from tests.adversarial.fuzz.settings import SETTINGS

TARGETS = {
    target.name: target
    for target in (READERS, RELEASES, KEYS, GUESSES, AUDITS, INDEXES, SETTINGS, LISTS)
}
