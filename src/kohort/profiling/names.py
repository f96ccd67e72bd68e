"""What a column's name says: the identifiers of the HIPAA list and common attributes of people.

English names, and common German, French and Spanish ones. Names are compared word by word
(`zip_code`, `zip-code`, `ZipCode` and `zipcode` are the same; `stage` holds no age).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kohort.data.hierarchies.code_systems import words_of

Role = Literal[
    "identifier", "quasi-identifier", "sensitive", "insensitive", "items", "person", "household", "weight"
]

_LONGEST_PHRASE = 4


@dataclass(frozen=True)
class Meaning:
    """What some words in a name stand for.

    `certain` is False for words that point to an identifier only where the values are mostly distinct:
    a patient's number, but not a department's.
    """

    about: str
    role: Role
    certain: bool = True


def meaning_of(name: str) -> Meaning | None:
    """What a column's name says about it: its longest known phrase, of equally long ones the first listed.

    >>> meaning_of("Date of Birth").about, meaning_of("stage")
    ('a date', None)
    """
    words = words_of(name)
    if "".join(words) in _WHOLE_NAMES:
        return _PERSON_NAME
    for length in range(min(len(words), _LONGEST_PHRASE), 0, -1):
        phrases = ("".join(words[i : i + length]) for i in range(len(words) - length + 1))
        found = [rank for phrase in phrases if (rank := _rank_of(phrase)) is not None]
        if found:
            return _MEANINGS[min(found)][0]
    return _by_stem(words)


def _by_stem(words: list[str]) -> Meaning | None:
    """What the beginning of a word says where no word is known: `educyrs` is about education."""
    for stem, phrase in _STEMS.items():
        if any(word.startswith(stem) for word in words):
            return _MEANINGS[_RANK_OF_PHRASE[phrase]][0]
    return None


def _rank_of(phrase: str) -> int | None:
    """Where a phrase, or its singular, stands in the list of meanings."""
    rank = _RANK_OF_PHRASE.get(phrase)
    return _RANK_OF_PHRASE.get(phrase[:-1]) if rank is None and phrase.endswith("s") else rank


_STEMS = {  # beginnings that no other common word has, and the word that they stand for
    "hlth": "health",
    "diag": "diagnosis",
    "illn": "illness",
    "educ": "education",
    "schl": "school",
    "occup": "occupation",
    "emplo": "employment",
    "popul": "population",
    "resid": "residence",
    "ethn": "ethnicity",
    "citiz": "citizenship",
    "natio": "nationality",
    "marit": "marital",
    "relig": "religion",
    "polit": "politics",
    "salar": "salary",
    "incom": "income",
    "einkomm": "income",
}
_WHOLE_NAMES = frozenset(("name", "names", "nom", "noms", "nombre", "nombres"))
_PERSON_NAME = Meaning("a person's name", "identifier")
_DATE = Meaning("a date", "quasi-identifier")

# First come the meanings that win when a name holds words of several: `address_city` is a place,
# `diagnosis_date` a date, `drug_name` a matter of health. Phrases are written without spaces.
_MEANINGS: tuple[tuple[Meaning, str], ...] = (
    (
        _DATE,
        """date datum fecha timestamp dob birth birthdate birthday birthyear yearofbirth yob dateofbirth
        datebirth geburtsdatum geburtstag geburtsjahr naissance datedenaissance nacimiento
        fechadenacimiento aufnahmedatum entlassungsdatum todesdatum sterbedatum""",
    ),
    (
        Meaning("a place", "quasi-identifier"),
        """zip zipcode postcode postal postalcode plz postleitzahl codepostal codigopostal cp city town
        village
        county district canton kanton province provincia region state country land location place
        residence neighbourhood neighborhood municipality population urban rural censustract tract
        latitude longitude lat lon lng gps geo coordinate site birthplace placeofbirth birthcountry
        geburtsort lieudenaissance ort wohnort stadt gemeinde bundesland landkreis kreis ville
        commune departement pays ciudad municipio comunidad pais estado lugardenacimiento""",
    ),
    (
        _PERSON_NAME,
        """firstname lastname fullname surname forename givenname familyname middlename maidenname patientname
        personname customername clientname employeename membername doctorname contactname mothername
        fathername username nickname vorname nachname familienname geburtsname rufname prenom
        nomdefamille patronyme nomcomplet apellido nombrecompleto nombredepila""",
    ),
    (
        Meaning("a personal number", "identifier"),
        """ssn socialsecurity socialsecuritynumber nationalid nationalinsurancenumber nin nino nhs nhsnumber
        mrn medicalrecord medicalrecordnumber healthplannumber healthinsurancenumber insurancenumber
        passport passportnumber taxid taxnumber ahv ahvnummer avs svnr sozialversicherungsnummer
        versichertennummer krankenversichertennummer ausweis ausweisnummer personalausweis
        steuernummer steuerid personalnummer patientennummer kundennummer mitgliedsnummer reisepass
        nir numerosecu securitesociale numerodesecuritesociale passeport dni nif curp rfc pasaporte
        seguridadsocial personnummer bsn pesel cpf patientid personid patientennr kundennr
        fallnummer fallnr versicherungsnummer""",
    ),
    (
        Meaning("a phone number", "identifier"),
        """phone phonenumber telephone telephonenumber tel mobile mobilenumber cellphone cellnumber fax
        faxnumber telefon telefonnummer handy handynummer mobil mobilnummer telefax telefonnr
        telefono movil celular""",
    ),
    (
        Meaning("an e-mail address", "identifier"),
        "email mail emailaddress mailaddress courriel correo correoelectronico",
    ),
    (
        Meaning("an address", "identifier"),
        """address homeaddress street streetaddress streetname housenumber adresse anschrift strasse
        hausnummer
        rue direccion domicilio calle""",
    ),
    (
        Meaning("an internet address", "identifier"),
        "ip ipaddress ipv4 ipv6 ipadresse adresseip direccionip url website webpage homepage webaddress",
    ),
    (
        Meaning("an account number", "identifier"),
        """iban bankaccount accountnumber accountid creditcard creditcardnumber cardnumber kontonummer
        kreditkarte numerodecompte numerodecuenta""",
    ),
    (
        Meaning("a licence, vehicle or device number", "identifier"),
        """driverlicense driverlicence driverslicense driverslicence drivinglicence licensenumber
        licencenumber
        certificatenumber licenseplate licenceplate numberplate vin kennzeichen fahrgestellnummer
        immatriculation matricula imei imsi macaddress serialnumber deviceid deviceserialnumber
        seriennummer numerodeserie""",
    ),
    (
        Meaning("a photo or a biometric feature", "identifier"),
        """photo photograph portrait picture image selfie foto passfoto bild passbild biometric biometry
        fingerprint retina voiceprint facescan fingerabdruck empreinte huella""",
    ),
    (
        Meaning("insurance", "quasi-identifier"),
        "insurance healthinsurance healthplan insurer krankenkasse versicherung assurance mutuelle seguro",
    ),
    (
        Meaning("health", "sensitive"),
        """health healthstate healthstatus medical diagnosis diagnoses diagnosen diagnostic diagnostico
        diagnose disease illness sickness condition icd icd10 symptom treatment therapy medication
        medicine drug prescription surgery mental depression disability limitation hiv aids cancer
        diabetes pregnancy pregnant genetic genotype bloodtype bloodgroup bloodpressure heartrate
        glucose cholesterol bmi hospitalization hospitalisation hosp admissions visits chronic lab
        labresult testresult smoking smoker alcohol admission stay lengthofstay visit allergy
        krankheit erkrankung befund symptome behandlung therapie medikament gesundheit
        schwangerschaft behinderung rauchen raucher verweildauer maladie symptome traitement
        medicament sante grossesse handicap enfermedad tratamiento medicamento salud embarazo
        discapacidad""",
    ),
    (
        Meaning("a time span", "sensitive"),
        "duration dauer laufzeit duree duracion elapsed",
    ),
    (
        Meaning("money", "sensitive"),
        """income salary wage earning pay payment capital capitalgain capitalloss wealth debt credit
        creditscore loan mortgage balance spending saving savingsaccount checkingaccount bond
        installment instalment debtor guarantor deductible premium refund tax benefit allowance
        expense expenditure cost charge price amount gehalt lohn sparen steuer zins einkommen
        vermogen vermoegen schulden kredit betrag kosten revenu salaire dette montant cout ingreso
        salario sueldo deuda importe""",
    ),
    (
        Meaning("beliefs, sexuality or offences", "sensitive"),
        """religion religious faith belief political politics party vote union sexualorientation orientation
        sexuality affair opinion attitude trust satisfaction crime criminal offence offense
        conviction arrest konfession partei gewerkschaft straftat croyance politique syndicat delito
        politica""",
    ),
    (
        Meaning("a test, score or result", "sensitive"),
        """score result outcome grade mark testscore rating rate rank percentile resultat ergebnis resultado
        likert""",
    ),
    (
        Meaning("age", "quasi-identifier"),
        "age agegroup ageyears agecat agep xage rage alter altersgruppe lebensalter edad grupodeedad",
    ),
    (
        Meaning("sex", "quasi-identifier"),
        "sex gender female male woman man geschlecht sexe genre sexo genero",
    ),
    (
        Meaning("origin or language", "quasi-identifier"),
        """race black white hispanic latino asian foreign foreigner immigrant ethnicity ethnic ethnicgroup
        nationality citizenship nativecountry language mothertongue tribe nationalitat nationalitaet
        staatsangehorigkeit staatsangehoerigkeit herkunft sprache muttersprache nationalite langue
        origine nacionalidad idioma etnia raza""",
    ),
    (
        Meaning("family", "quasi-identifier"),
        """marital maritalstatus civilstatus relationship household householdsize family familysize children
        child kids married spouse partner dependent dependant maintenance liable hhsize
        familienstand zivilstand haushalt haushaltsgrosse haushaltsgroesse kinder situationfamiliale
        etatcivil menage enfant estadocivil hogar hijo""",
    ),
    (
        Meaning("education", "quasi-identifier"),
        """education educ educationlevel schooling school degree diploma qualification bildung ausbildung
        abschluss schulabschluss etude diplome formation educacion estudio titulacion""",
    ),
    (
        Meaning("work", "quasi-identifier"),
        """occupation job worker employed unemployed retired jobtitle profession employment employmentstatus
        employer company workclass industry sector department position hoursperweek workinghours
        veteran military beruf tatigkeit taetigkeit arbeitgeber firma branche abteilung metier
        emploi employeur entreprise profesion ocupacion empleo empleador empresa trabajo""",
    ),
    (
        Meaning("possessions that others see or registers list", "quasi-identifier"),
        """house housing home homeowner owner tenant dwelling property car cars vehicle vehicletype haus
        wohnung eigentum auto logement voiture vivienda coche""",
    ),
    (
        Meaning("body measures", "quasi-identifier"),
        "height weight bodyheight bodyweight birthweight grosse groesse gewicht taille poids altura peso",
    ),
    (
        Meaning("where someone was treated", "quasi-identifier"),
        """hospital clinic ward facility provider physician doctor krankenhaus klinik station arzt hopital
        medico""",
    ),
    (
        _DATE,
        "day month year monat jahr jour mois annee dia mes ano",
    ),
    (
        Meaning("free text", "identifier", certain=False),
        """note comment remark freetext description memo bemerkung kommentar freitext commentaire remarque
        comentario observacion observaciones""",
    ),
    (
        Meaning("a record's own number, name or key", "identifier", certain=False),
        """id identifier uid uuid guid no nr num number nummer numero kennung key code index record row case
        person patient subject participant client customer member employee respondent user login
        account konto compte cuenta policy name nom nombre contact device serial gerat geraet
        vehicle fahrzeug vehicule vehiculo license licence fuhrerschein fuehrerschein permis plate
        certificate link web kunde mitglied personne paciente cliente empleado""",
    ),
    (
        Meaning("how the table was made", "insensitive"),
        "split fold partition version dataset",
    ),
)
_RANK_OF_PHRASE = {
    phrase: rank for rank, (_, phrases) in reversed(list(enumerate(_MEANINGS))) for phrase in phrases.split()
}
