"""The words of which made-up hospital records consist, and what goes with what."""

from __future__ import annotations

from typing import NamedTuple


class Diagnosis(NamedTuple):
    """A diagnosis: how common it is, at what age, in women against men, where, and how long it takes."""

    name: str
    weight: float
    age: float
    spread: float
    women: float
    region: str
    days: float


DIAGNOSES = (
    Diagnosis("newborn jaundice", 30, 0, 0.5, 0.9, "skin", 3),
    Diagnosis("premature birth", 20, 0, 0.4, 0.9, "chest", 20),
    Diagnosis("bronchiolitis", 12, 0, 2, 0.8, "chest", 4),
    Diagnosis("tonsillitis", 3, 8, 6, 1.0, "neck", 2),
    Diagnosis("asthma", 2, 12, 18, 1.0, "chest", 4),
    Diagnosis("gastroenteritis", 2, 20, 40, 1.0, "abdomen", 3),
    Diagnosis("appendicitis", 2.5, 18, 12, 0.9, "abdomen", 3),
    Diagnosis("concussion", 2, 20, 22, 0.6, "head", 2),
    Diagnosis("broken arm", 2, 14, 16, 0.7, "arm", 2),
    Diagnosis("hand injury", 1.5, 30, 16, 0.4, "hand", 2),
    Diagnosis("burn", 0.6, 25, 25, 0.7, "skin", 8),
    Diagnosis("childbirth", 14, 31, 5, 1e6, "pelvis", 3),
    Diagnosis("miscarriage", 2, 31, 6, 1e6, "pelvis", 1),
    Diagnosis("endometriosis", 1, 33, 8, 1e6, "pelvis", 3),
    Diagnosis("depression", 2, 42, 18, 1.6, "head", 25),
    Diagnosis("psychosis", 0.8, 33, 14, 0.8, "head", 28),
    Diagnosis("eating disorder", 0.8, 19, 5, 9.0, "abdomen", 35),
    Diagnosis("alcohol dependence", 1.6, 46, 13, 0.35, "abdomen", 9),
    Diagnosis("drug dependence", 0.8, 32, 10, 0.4, "head", 10),
    Diagnosis("HIV infection", 0.2, 40, 12, 0.3, "skin", 6),
    Diagnosis("hepatitis", 0.4, 45, 15, 0.7, "abdomen", 6),
    Diagnosis("multiple sclerosis", 0.5, 38, 11, 2.5, "spine", 6),
    Diagnosis("epilepsy", 0.8, 30, 28, 0.9, "head", 4),
    Diagnosis("slipped disc", 2.5, 48, 13, 0.9, "spine", 5),
    Diagnosis("torn knee ligament", 1.5, 30, 13, 0.6, "leg", 2),
    Diagnosis("gallstones", 2.5, 54, 16, 1.7, "abdomen", 4),
    Diagnosis("hernia", 2.2, 56, 18, 0.25, "abdomen", 2),
    Diagnosis("kidney stones", 1.6, 48, 15, 0.5, "abdomen", 2),
    Diagnosis("diabetes", 1.8, 60, 18, 0.8, "leg", 7),
    Diagnosis("breast cancer", 2.2, 61, 12, 100.0, "chest", 5),
    Diagnosis("prostate cancer", 2.2, 69, 8, 1e-6, "pelvis", 6),
    Diagnosis("lung cancer", 1.6, 68, 10, 0.7, "chest", 8),
    Diagnosis("bowel cancer", 1.7, 70, 11, 0.8, "abdomen", 11),
    Diagnosis("skin cancer", 1.0, 68, 14, 0.8, "skin", 2),
    Diagnosis("heart attack", 2.6, 69, 12, 0.5, "heart", 6),
    Diagnosis("heart failure", 3.5, 80, 9, 0.9, "heart", 9),
    Diagnosis("irregular heartbeat", 2.6, 72, 12, 0.8, "heart", 4),
    Diagnosis("stroke", 2.6, 76, 11, 0.9, "head", 10),
    Diagnosis("pneumonia", 2.2, 74, 22, 0.9, "chest", 8),
    Diagnosis("worn hip joint", 2.4, 71, 10, 1.4, "hip", 7),
    Diagnosis("broken hip", 2.4, 83, 8, 2.4, "hip", 12),
    Diagnosis("dementia", 1.4, 83, 7, 1.3, "head", 14),
)

_TECHNIQUES = (
    "X-ray, ultrasound, CT scan, MRI scan, wound dressing, physiotherapy, local anaesthesia, "
    "keyhole surgery, open surgery, biopsy"
)
_REGIONS = "abdomen, chest, head, heart, leg, pelvis, spine, skin, hip, arm, neck, hand"
TECHNIQUES, REGIONS = _TECHNIQUES.split(", "), _REGIONS.split(", ")

# Patients by age: the relative number at these ages, in between by straight lines.
_AGES = (0, 1, 5, 15, 20, 30, 40, 50, 60, 70, 78, 85, 92, 100)
_PATIENTS = (60, 12, 6, 6, 9, 14, 11, 14, 20, 25, 28, 20, 6, 0.3)
AGE_PYRAMID = dict(zip(_AGES, _PATIENTS))

_WORK = {
    12: "clerk",
    10: "salesperson",
    7: "nurse, teacher",
    6: "unemployed, homemaker, factory worker",
    5: "driver, engineer, manager",
    4: "civil servant, programmer, builder, mechanic, warehouse worker",
    3: "electrician, cleaner, cook, accountant, social worker",
    2: "waiter, physician, hairdresser, farmer",
    1.5: "police officer",
    1: "scientist",
}  # by how common they are
WORK = {work: weight for weight, listed in _WORK.items() for work in listed.split(", ")}

FIRST_NAMES = {
    "female": (
        "Alice Amira Anna Aylin Beatriz Carla Chloe Clara Diana Elena Elif Emma Eva Fatima Greta Hanna "
        "Ines Irina Julia Kira Laura Lea Lina Lucia Maria Marta Mila Nadia Nina Nora Olga Paula Petra "
        "Rita Rosa Sara Sofia Vera Yara Zoe"
    ),
    "male": (
        "Adam Ahmed Alex Anton Ben Carlos Daniel David Diego Emil Enzo Erik Felix Hugo Ivan Jakob Jan "
        "Jonas Jose Karl Leo Luca Luis Marco Marek Mateo Max Mehmet Milan Noah Omar Oscar Pablo Paul "
        "Peter Samuel Tim Tomas Victor Yusuf"
    ),
}
SURNAMES = (
    "Adler Ahmadi Alvarez Bauer Becker Berg Bernard Bianchi Blanc Brown Carter Castro Costa Diaz "
    "Dubois Ebner Evans Fabre Ferrari Fischer Fontana Frank Garcia Girard Graf Green Haas Hall "
    "Hansen Hoffmann Horvat Huber Ivanov Jansen Johnson Kaya Keller King Klein Koch Kovacs Kowalski "
    "Lang Larsen Lemaire Lopez Lorenz Maier Marin Martin Mendes Meyer Miller Moreau Moretti Muller "
    "Nagy Nilsson Novak Olsen Ortiz Perez Petrov Popescu Ramos Ricci Rossi Roux Ruiz Sanchez Schmid "
    "Silva Smith Steiner Taylor Vogel Weber Wolf Yilmaz Zimmermann"
)
