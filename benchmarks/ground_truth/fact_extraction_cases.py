"""Answers in other words or another language than their contexts, written by hand for rows of HaluEval's QA.

The rows themselves (HaluEval, MIT) are not copied here: each is found by the beginning of its question. `right` is a
piece of the sentence that the answer must be based on.
"""

from typing import NamedTuple


class Written(NamedTuple):
    """A row by the beginning of its question, a piece of its right sentence, and an answer written by hand."""

    question: str
    right: str
    language: str
    answer: str


WRITTEN = (
    Written("Which magazine was started first Arthur", "American literary periodical", "en",
            "Arthur's Magazine, which appeared in the 1840s as a journal of letters in the States."),
    Written("The Oberoi family is part of a hotel", "head office in Delhi", "de",
            "Das Hotelunternehmen hat seinen Hauptsitz in Delhi."),
    Written("Musician and satirist Allie Goertz", "President Richard Nixon's middle name", "en",
            "The creator of the cartoon took the character's name from a former US head of state, Nixon."),
    Written("What nationality was James Henry", "American folksinger", "de",
            "Seine Frau Peggy Seeger war eine Volkssängerin aus den USA."),
    Written("Cadmium Chloride is slightly", "also called alcohol", "fr",
            "On l'appelle aussi alcool, un composé chimique simple."),
    Written("Which genus of moth", "contains only one species", "en",
            "There is just a single kind of insect in that group, and it lives on the Indian subcontinent."),
    Written("Who was once considered the best kick", "Moroccan-Dutch super heavyweight", "en",
            "It was Badr Hari, the fighter from Amsterdam with Moroccan roots."),
    Written("The Dutch-Belgian television series", "first aired in September 2006", "de",
            "Die Serie wurde zuerst im Jahr 2006 ausgestrahlt."),
    Written("What is the length of the track", "6.213 km long", "de",
            "Die Rennstrecke ist 6.213 km lang."),
    Written("Gunmen from Laredo starred", 'narrating the NBC western', "en",
            "The voice of that cowboy anthology on TV was the performer Walter Coy."),
    Written("In which American football game", "Most Valuable Player of Super Bowl", "fr",
            "Il a été élu meilleur joueur du Super Bowl XLVIII."),
    Written("The 1988 American comedy film", "four-time Academy Award nominee", "en",
            "Bening was up for an Oscar on four occasions."),
    Written("American politician Joe Heck", "32nd Attorney General of Nevada", "en",
            "Before that she had been the chief legal officer of the state of Nevada."),
    Written("Which  American politician did Donahue", "replaced Kelli Ward", "de",
            "Donahue folgte auf Kelli Ward, die für den Senat kandidierte."),
    Written("Which band was founded first, Hole", "formed in Romford", "en",
            "The Wolfhounds came together in an English town in the mid-eighties."),
    Written("How old is the female main", "voice of 16-year-old", "en",
            "The heroine who tells the story is a teenager, aged 16."),
    Written("Chang Ucchin was born", "ended at the conclusion of World War II", "fr",
            "La domination japonaise sur la Corée a pris fin avec la Seconde Guerre mondiale."),
    Written("Who is the director of the 2003", "directed by Todd Phillips", "de",
            "Regie bei der Komödie führte Todd Phillips."),
    Written("Are both The New Pornographers", "Canadian indie rock band", "en",
            "No: one of these groups comes from Vancouver and so is not from the US."),
    Written("750 7th Avenue and 101 Park", "skyscraper in New York City", "fr",
            "Les deux gratte-ciel se trouvent à New York."),
    Written("Which actress played the part of", "Played by actress Amy Jo Johnson", "en",
            "The role was taken by Amy Jo Johnson for the initial three years of the programme."),
    Written("Who was born first, Pablo", "Polish Jewish film director", "de",
            "Aleksander Ford, der polnische Filmemacher, kam früher zur Welt."),
    Written("New Faces of 1952", "American actress, most often associated", "en",
            "It gave a start to Carol Lawrence, a performer who is known above all from the stage."),
    Written("Were Pavel Urysohn", "Soviet mathematician of Jewish origin", "fr",
            "Urysohn était un mathématicien soviétique."),
    Written("Are Jane and First", "appeal to the women who grew up", "en",
            "Jane was aimed at female readers who had been fans of Sassy when they were young."),
    Written("What profession does Nicholas Ray", "American film director best known", "de",
            "Nicholas Ray war ein amerikanischer Filmregisseur."),
    Written("Where is the company that purchased Aixam", "Polaris is based in Roseau", "en",
            "The buyer of the small-car maker sits in a town of Minnesota called Roseau."),
    Written("Which documentary is about Finnish", "documentary of three Finnish rock groups", "fr",
            "C'est un documentaire sur trois groupes de rock finlandais."),
    Written("Who was inducted into the Rock", "inducted into the Rock and Roll Hall of Fame", "en",
            "The singer Roth got that honour in 2007."),
    Written("Zimbabwe's Guwe", "hamlet of Carle Place in Nassau County", "de",
            "Die Schule in Carle Place liegt im Bezirk Nassau im Bundesstaat New York."),
)  # fmt: skip
