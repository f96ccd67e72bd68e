"""Systems of codes, such as ICD-10 and postcodes: their levels, and which of them a column holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from kohort.data.column import Column

_COUNTRIES_OF_REGION = {
    "Africa": """
        AO AGO BF BFA BI BDI BJ BEN BW BWA CD COD CF CAF CG COG CI CIV CM CMR CV CPV DJ DJI DZ DZA
        EG EGY EH ESH ER ERI ET ETH GA GAB GH GHA GM GMB GN GIN GQ GNQ GW GNB IO IOT KE KEN KM COM
        LR LBR LS LSO LY LBY MA MAR MG MDG ML MLI MR MRT MU MUS MW MWI MZ MOZ NA NAM NE NER NG NGA
        RE REU RW RWA SC SYC SD SDN SH SHN SL SLE SN SEN SO SOM SS SSD ST STP SZ SWZ TD TCD TF ATF
        TG TGO TN TUN TZ TZA UG UGA YT MYT ZA ZAF ZM ZMB ZW ZWE
    """,
    "Americas": """
        AG ATG AI AIA AR ARG AW ABW BB BRB BL BLM BM BMU BO BOL BQ BES BR BRA BS BHS BV BVT BZ BLZ
        CA CAN CL CHL CO COL CR CRI CU CUB CW CUW DM DMA DO DOM EC ECU FK FLK GD GRD GF GUF GL GRL
        GP GLP GS SGS GT GTM GY GUY HN HND HT HTI JM JAM KN KNA KY CYM LC LCA MF MAF MQ MTQ MS MSR
        MX MEX NI NIC PA PAN PE PER PM SPM PR PRI PY PRY SR SUR SV SLV SX SXM TC TCA TT TTO US USA
        UY URY VC VCT VE VEN VG VGB VI VIR
    """,
    "Asia": """
        AE ARE AF AFG AM ARM AZ AZE BD BGD BH BHR BN BRN BT BTN CN CHN CY CYP GE GEO HK HKG ID IDN
        IL ISR IN IND IQ IRQ IR IRN JO JOR JP JPN KG KGZ KH KHM KP PRK KR KOR KW KWT KZ KAZ LA LAO
        LB LBN LK LKA MM MMR MN MNG MO MAC MV MDV MY MYS NP NPL OM OMN PH PHL PK PAK PS PSE QA QAT
        SA SAU SG SGP SY SYR TH THA TJ TJK TL TLS TM TKM TR TUR TW TWN UZ UZB VN VNM YE YEM
    """,
    "Europe": """
        AD AND AL ALB AT AUT AX ALA BA BIH BE BEL BG BGR BY BLR CH CHE CZ CZE DE DEU DK DNK EE EST
        ES ESP FI FIN FO FRO FR FRA GB GBR GG GGY GI GIB GR GRC HR HRV HU HUN IE IRL IM IMN IS ISL
        IT ITA JE JEY LI LIE LT LTU LU LUX LV LVA MC MCO MD MDA ME MNE MK MKD MT MLT NL NLD NO NOR
        PL POL PT PRT RO ROU RS SRB RU RUS SE SWE SI SVN SJ SJM SK SVK SM SMR UA UKR VA VAT XK XKX
    """,
    "Oceania": """
        AS ASM AU AUS CC CCK CK COK CX CXR FJ FJI FM FSM GU GUM HM HMD KI KIR MH MHL MP MNP NC NCL
        NF NFK NR NRU NU NIU NZ NZL PF PYF PG PNG PN PCN PW PLW SB SLB TK TKL TO TON TV TUV UM UMI
        VU VUT WF WLF WS WSM
    """,
    "Antarctica": "AQ ATA",
}
REGION_OF_COUNTRY = {code: region for region, codes in _COUNTRIES_OF_REGION.items() for code in codes.split()}
"""The region of each country, by its codes of two and of three letters."""


# Codes that have levels in them. Only their structure is used, such as which characters of a postcode name
# its area: there is no list of the codes that exist.
@dataclass(frozen=True)
class CodeSystem:
    """One kind of code.

    title    what the codes are called, in the plural
    example  a code
    pattern  what a code looks like in capital letters, without spaces at its ends
    above    the labels above a code, the finest first, from the groups of the pattern; one not there is empty
    digits   whole numbers shorter than this have lost their first zeros
    """

    title: str
    example: str
    pattern: str
    above: Callable[..., tuple[str, ...]]
    digits: int = 0

    def levels(self, code: str, *, is_number: bool = False) -> tuple[str, ...] | None:
        """The labels above a code, the finest first and without `*`; None if it does not fit the pattern.

        >>> CODE_SYSTEMS["uk-postcode"].levels("SW1A 1AA")
        ('SW1A 1', 'SW1A', 'SW')
        """
        plain = " ".join(code.upper().split())
        if is_number and plain.isdigit():
            plain = plain.zfill(self.digits)
        found = re.fullmatch(self.pattern, plain)
        return self.above(*found.groups("")) if found else None


_ICD10_CHAPTERS = (
    *("A00-B99", "C00-D49", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95", "I00-I99"),
    *("J00-J99", "K00-K95", "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P96", "Q00-Q99", "R00-R99"),
    *("S00-T98", "U00-U99", "V00-Y99", "Z00-Z99"),
)


def _icd10(category: str, rest: str) -> tuple[str, ...]:
    chapter = next(c for c in reversed(_ICD10_CHAPTERS) if c[:2] <= category[:2])
    above = (category, f"{category[:2]}0-{category[:2]}9", chapter)
    return above if len(rest) < 2 else (f"{category}.{rest[0]}", *above)


_NACE_SECTIONS = (  # the first division of each section
    *(("A", 1), ("B", 5), ("C", 10), ("D", 35), ("E", 36), ("F", 41), ("G", 45), ("H", 49), ("I", 55)),
    *(("J", 58), ("K", 64), ("L", 68), ("M", 69), ("N", 77), ("O", 84), ("P", 85), ("Q", 86), ("R", 90)),
    *(("S", 94), ("T", 97), ("U", 99)),
)


def _nace(division: str, group: str, class_: str) -> tuple[str, ...]:
    section = next(s for s, first in reversed(_NACE_SECTIONS) if first <= int(division))
    return (*([f"{division}.{group}"] if class_ else ()), division, section)


def _masked(code: str) -> tuple[str, ...]:
    return tuple(code[:kept].ljust(len(code), "*") for kept in (3, 2, 1))


_UK_POSTCODE = r"([A-Z]{1,2})([0-9][A-Z0-9]?)(?: ?([0-9])([A-Z]{2})?)?"
_CA_POSTCODE = r"([A-Z][0-9][A-Z])(?: ?[0-9][A-Z][0-9])?"
_ICD10 = r"([A-Z][0-9][0-9AB])(?:\.?([0-9A-Z]{1,4}))?[*†+!-]?"
_NACE = r"(?:[A-U]\.? ?)?(0[1-9]|[1-9][0-9])(?:\.?([0-9])(?:\.?([0-9]))?)?"
_SOC = r"([1-5][0-9])-?([0-9]{4})(\.[0-9]{2})?"
_COUNTRY = f"({'|'.join(REGION_OF_COUNTRY)})"

CODE_SYSTEMS = {
    "uk-postcode": CodeSystem(
        *("UK postcodes", "SW1A 1AA", _UK_POSTCODE),
        lambda area, district, sector, unit: (
            *([f"{area}{district} {sector}"] if unit else ()),
            *(f"{area}{district}", area),
        ),
    ),
    "us-zip": CodeSystem(
        *("US ZIP codes", "94110", r"([0-9]{5})(?:-?([0-9]{4}))?"),
        lambda place, more: (*([place] if more else ()), f"{place[:3]}**", f"{place[:1]}****"),
        digits=5,
    ),
    "de-postcode": CodeSystem("German postcodes", "10115", r"(?:DE?-)?([0-9]{5})", _masked, digits=5),
    "fr-postcode": CodeSystem(
        *("French postcodes", "75001", r"(?:FR?-)?([0-9]{5})"),
        lambda place: (f"{place[:3]}**" if place[:2] in ("97", "98") else f"{place[:2]}***",),  # overseas
        digits=5,
    ),
    "ca-postcode": CodeSystem("Canadian postcodes", "K1A 0B1", _CA_POSTCODE, lambda area: (area, area[:1])),
    "icd10": CodeSystem("ICD-10 codes", "J45.0", _ICD10, _icd10),
    "nace": CodeSystem("NACE codes", "10.71", _NACE, _nace),
    "soc": CodeSystem(
        *("US SOC occupation codes", "29-1141", _SOC),
        lambda major, detail, more: (
            *([f"{major}-{detail}"] if more else ()),
            *(f"{major}-{detail[:3]}0", f"{major}-{detail[:1]}000", f"{major}-0000"),
        ),
    ),
    "isco": CodeSystem("ISCO occupation codes", "2221", r"([0-9]{4})", _masked, digits=4),
    "uk-soc": CodeSystem("UK SOC occupation codes", "2231", r"([1-9][0-9]{3})", _masked),
    "country": CodeSystem(
        *("ISO country codes", "FR or FRA", _COUNTRY), lambda code: (REGION_OF_COUNTRY[code],)
    ),
}


_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def words_of(name: str) -> list[str]:
    """The words of a column's name, in lower case and without accents.

    >>> words_of("PatientID"), words_of("prénom_2"), words_of("date-of-birth")
    (['patient', 'id'], ['prenom', '2'], ['date', 'of', 'birth'])
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return [word.lower() for word in _WORD.findall(plain)]


_LOOKED_AT = 1000
_ENOUGH_VALUES = 5  # different codes, where the column's name does not say what they are
_SHARE = 0.95

# Words of a column's name that speak for codes of a system. Codes that look like nothing else need no name.
_NAMES = {
    "uk-postcode": "postcode postal postalcode",
    "ca-postcode": "postcode postal postalcode codepostal",
    "us-zip": "zip zipcode zip5 zip9",
    "de-postcode": "plz postleitzahl",
    "fr-postcode": "codepostal cp",
    "icd10": "icd icd10 diagnosis diagnoses diagnose diagnosen diagnostic diagnostico dx cause causeofdeath",
    "country": """country land pays pais nation nationality citizenship nativecountry birthcountry
        countryofbirth nationalite nationalitaet nationalitat nacionalidad staatsangehorigkeit
        staatsangehoerigkeit herkunft""",
    "nace": "nace industry branche wz naf",
    "isco": "isco isco08 isco88",
    "uk-soc": "soc soc2010 soc2020",
    "soc": "soc occupation job onet",
}
_NAMES_OF = {system: frozenset(names.split()) for system, names in _NAMES.items()}
_UNMISTAKABLE = {  # these need several characters of the right kind each in its place
    "uk-postcode": r"[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}",
    "ca-postcode": r"[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]",
    "us-zip": r"[0-9]{5}-[0-9]{4}",
    "icd10": r"[A-Z][0-9][0-9AB]\.[0-9A-Z]{1,4}",
    "soc": r"[1-5][0-9]-[0-9]{4}",
}


def recognized_code(column: Column) -> str | None:
    """The system of codes that a column holds; None if there is none that both name and values speak for.

    >>> import pyarrow as pa
    >>> from kohort.data.column import code_column
    >>> recognized_code(code_column("PLZ", pa.array(["10115", "80331"])))
    'de-postcode'
    """
    if column.kind not in ("string", "integer"):
        return None
    texts = column.present
    some = texts[:: max(1, len(texts) // _LOOKED_AT)]
    if not some:
        return None
    phrases, is_number, enough = phrases_of(column.name), column.kind == "integer", _SHARE * len(some)
    for system, names in _NAMES_OF.items():
        levels = CODE_SYSTEMS[system].levels
        if phrases & names and sum(levels(text, is_number=is_number) is not None for text in some) >= enough:
            return system
    for system, pattern in _UNMISTAKABLE.items() if len(some) >= _ENOUGH_VALUES else ():
        if sum(re.fullmatch(pattern, text.upper().strip()) is not None for text in some) >= enough:
            return system
    return None


def phrases_of(name: str, most: int = 3) -> set[str]:
    """The words of a name, and up to `most` neighbours together: `code_postal` is `codepostal`."""
    words = words_of(name)
    return {"".join(words[i : i + n]) for n in range(1, most + 1) for i in range(len(words) - n + 1)}
