"""The words of the synthetic shop: what people set out to do, what they buy on the way, and who makes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mission:
    """A project that runs through stages; every product of it comes in one of the `fits`, which must match."""

    department: str
    name: str
    fits: tuple[str, ...]
    stages: tuple[str, ...]
    """`product: what it is for`, in the order in which people buy."""


BRANDS = (
    *("Aldermoor", "Brightfell", "Calvera", "Dunmere", "Estwick", "Fjordal", "Grünwald", "Halloran", "Ixelle"),
    *("Juniper & Co", "Kestrelle", "Lumivar", "Marisco", "Nordhem", "Okabe", "Pinehurst", "Quillon", "Rosetti"),
    *("Solvane", "Tamsin", "Ulverton", "Veloura", "Wexley", "Yarrowby", "Zephyrine", "Ardent", "Bellacasa", "Corvane"),
)
SERIES = (
    *("Classic", "Pro", "Studio", "Compact", "Heritage", "Lite", "Prime", "Essential", "Signature", "Eco", "Max"),
    *("Duo", "Nova", "Core", "Select", "Everyday", "Atlas", "Mono"),
)
OFFERS = ("limited edition", "new edition", "gift box", "recycled packaging", "small batch", "starter offer")
PRICE_BANDS = ("budget", "mid-range", "premium")

MISSIONS = (
    Mission(
        "Kitchen", "Espresso at Home", ("58 mm portafilter", "54 mm portafilter", "51 mm portafilter"),
        ("espresso machine: pulls café-style shots", "burr grinder: grinds beans evenly for each shot",
         "whole espresso beans: a dark roast with low acidity", "tamper: presses the coffee level",
         "milk pitcher: froths silky milk", "descaler: removes limescale from the boiler"),
    ),
    Mission(
        "Kitchen", "Pour-Over Coffee", ("size 01", "size 02", "size 03"),
        ("pour-over dripper: brews a clean cup", "paper filters: keep the grounds out of the cup",
         "gooseneck kettle: pours slowly and exactly", "coffee scale: weighs and times the brew",
         "single-origin beans: a light, fruity roast", "glass server: keeps the brew warm"),
    ),
    Mission(
        "Kitchen", "Sourdough Baking", ("round loaf", "oval loaf", "tin loaf"),
        ("sourdough starter kit: begins a living culture", "proofing basket: shapes the rising dough",
         "dutch oven: bakes with steam for a crisp crust", "bread lame: scores the loaf",
         "strong bread flour: high in protein", "bread knife: cuts crust without crumbs"),
    ),
    Mission(
        "Kitchen", "Cake Decorating", ("vanilla", "chocolate", "lemon"),
        ("cake tin: bakes even layers", "sponge cake mix: bakes light and moist",
         "fondant icing: rolls out smooth", "piping bags: for rosettes and borders",
         "turntable: turns the cake while icing", "cake box: carries the cake safely"),
    ),
    Mission(
        "Kitchen", "Sushi Night", ("beginner", "family", "chef"),
        ("sushi rolling mat: rolls tight maki", "sushi rice: short grain that sticks well",
         "nori sheets: roasted seaweed", "rice vinegar: seasons the rice",
         "sashimi knife: slices fish in one pull", "serving board: presents the rolls"),
    ),
    Mission(
        "Outdoors", "Camping Weekend", ("one person", "two persons", "four persons"),
        ("dome tent: keeps rain and wind out", "sleeping bag: warm down to freezing",
         "sleeping mat: insulates from the ground", "camp stove: boils a litre in minutes",
         "gas cartridge: fuels the stove", "tent repair kit: mends poles and fabric"),
    ),
    Mission(
        "Outdoors", "Day Hiking", ("men's fit", "women's fit", "youth fit"),
        ("hiking boots: waterproof with a firm sole", "merino hiking socks: prevent blisters",
         "daypack: carries water and layers", "trekking poles: spare the knees downhill",
         "rain jacket: packs small and breathes", "boot wax: keeps leather waterproof"),
    ),
    Mission(
        "Outdoors", "Road Cycling", ("700x25", "700x28", "700x32"),
        ("cycling helmet: ventilated and light", "road tyre: rolls fast and grips in rain",
         "inner tube: a spare that fits", "floor pump: reaches pressure with a gauge",
         "chain lubricant: for wet and dry roads", "bike cleaner: foams off road dirt"),
    ),
    Mission(
        "Outdoors", "Fly Fishing", ("weight 4", "weight 5", "weight 8"),
        ("fly rod: casts with a soft action", "fly reel: smooth disc drag",
         "floating fly line: lays down gently", "tapered leader: turns the fly over",
         "trout fly set: dry flies and nymphs", "landing net: kind to the fish"),
    ),
    Mission(
        "Outdoors", "Rock Climbing", ("size S", "size M", "size L"),
        ("climbing shoes: precise on small edges", "climbing harness: padded for long belays",
         "chalk bag: hangs at the harness", "loose chalk: keeps hands dry",
         "belay device: locks the rope", "climbing tape: protects the fingers"),
    ),
    Mission(
        "Garden", "Vegetable Garden", ("balcony", "raised bed", "open ground"),
        ("planter: holds soil and drains well", "vegetable soil: rich in compost",
         "tomato seeds: an early, sweet variety", "plant supports: hold heavy stems",
         "tomato fertiliser: feeds through the season", "pruning shears: cut side shoots clean"),
    ),
    Mission(
        "Garden", "Lawn Care", ("small lawn", "medium lawn", "large lawn"),
        ("lawn mower: cuts clean edges", "scarifier: lifts moss and thatch",
         "grass seed: fills bare patches", "lawn fertiliser: greens up in two weeks",
         "sprinkler: waters evenly", "mower blade: a sharp replacement"),
    ),
    Mission(
        "Garden", "Bird Feeding", ("tits", "finches", "robins"),
        ("bird feeder: hangs from a branch", "sunflower hearts: seeds without mess",
         "fat balls: winter energy", "bird bath: shallow and stable",
         "nest box: with the right entrance hole", "feeder brush: keeps the feeder healthy"),
    ),
    Mission(
        "Hobby", "Watercolour Painting", ("A5", "A4", "A3"),
        ("watercolour set: bright artist pigments", "watercolour paper: cold pressed and heavy",
         "round brush set: keeps a fine point", "masking fluid: saves the whites",
         "field easel: folds for travel", "picture frame: shows the finished sheet"),
    ),
    Mission(
        "Hobby", "Knitting a Sweater", ("4 mm", "5 mm", "6 mm"),
        ("knitting pattern book: sweaters step by step", "circular needles: join stitches smoothly",
         "wool yarn: soft and warm", "stitch markers: count rows and repeats",
         "blocking mat: shapes the finished knit", "wool wash: cleans without felting"),
    ),
    Mission(
        "Hobby", "Electric Guitar", ("gauge 9", "gauge 10", "gauge 11"),
        ("electric guitar: a slim neck and bright tone", "practice amplifier: with headphone output",
         "instrument cable: quiet and shielded", "guitar strings: bright nickel wound",
         "clip-on tuner: tunes on a dark stage", "guitar polish: cleans lacquer and frets"),
    ),
    Mission(
        "Hobby", "Model Railway", ("gauge H0", "gauge N", "gauge TT"),
        ("railway starter set: a train and an oval", "track pack: extends the layout",
         "railway switch: leads to a siding", "station building: a kit with lights",
         "freight wagon: closed goods wagon", "track cleaner: restores contact"),
    ),
    Mission(
        "Hobby", "Analogue Photography", ("35 mm film", "120 film", "instant film"),
        ("film camera: fully manual", "film roll: fine grain and rich tones",
         "camera strap: soft on the neck", "light meter: reads shade and sun",
         "developing kit: develops film at home", "negative sleeves: archive the strips"),
    ),
    Mission(
        "Pets", "New Puppy", ("small breed", "medium breed", "large breed"),
        ("puppy bed: soft and washable", "puppy food: balanced for growth",
         "dog lead: strong with a soft grip", "training treats: small and low in fat",
         "chew toy: saves the furniture", "dog shampoo: mild for the coat"),
    ),
    Mission(
        "Pets", "Indoor Cat", ("kitten", "adult cat", "senior cat"),
        ("litter box: closed against odours", "cat litter: clumps fast",
         "cat food: with taurine and no sugar", "scratching post: sisal on a heavy base",
         "cat toy: feathers on a wand", "cat brush: takes off loose fur"),
    ),
    Mission(
        "Pets", "Home Aquarium", ("60 litres", "120 litres", "200 litres"),
        ("aquarium: crystal glass with a lid", "aquarium filter: quiet and thorough",
         "aquarium heater: keeps the temperature", "aquarium plants: oxygen and shelter",
         "fish flakes: for tropical fish", "water test strips: show nitrate and pH"),
    ),
    Mission(
        "Office", "Home Office", ("left-handed", "right-handed", "two-handed"),
        ("office chair: supports the lower back", "standing desk: rises at a touch",
         "ergonomic keyboard: splits for straight wrists", "vertical mouse: relaxes the forearm",
         "monitor arm: frees the desk", "cable tray: hides the wires"),
    ),
    Mission(
        "Office", "Fountain Pen Writing", ("extra fine nib", "medium nib", "broad nib"),
        ("fountain pen: writes without pressure", "bottled ink: flows well and dries fast",
         "ink converter: fills from the bottle", "dotted notebook: paper that does not bleed",
         "pen case: holds three pens", "pen flush: cleans dried ink"),
    ),
    Mission(
        "Baby", "Baby Arrives", ("newborn", "3-6 months", "6-12 months"),
        ("baby carrier: upright and close", "nappies: dry through the night",
         "baby wipes: water only", "baby bottle: against colic",
         "muslin cloths: soft and absorbent", "baby monitor: clear sound and a long range"),
    ),
    Mission(
        "Beauty", "Evening Skin Care", ("dry skin", "oily skin", "sensitive skin"),
        ("cleansing oil: melts make-up", "gentle cleanser: cleans without stripping",
         "hydrating toner: softens and balances", "vitamin serum: evens the tone",
         "night cream: restores the barrier", "lip balm: protects overnight"),
    ),
    Mission(
        "Beauty", "Wet Shaving", ("short handle", "long handle", "travel size"),
        ("safety razor: a close, mild shave", "razor blades: stainless double edge",
         "shaving soap: thick lather", "shaving brush: lifts the beard",
         "aftershave balm: calms the skin", "razor stand: dries blade and brush"),
    ),
)  # fmt: skip

IMPULSE = (
    "AA batteries", "sticky notes", "microfibre cloths", "phone charging cable", "reusable water bottle",
    "scented candle", "gift wrap", "LED torch", "chocolate bar", "hand cream", "cotton tote bag", "key ring",
    "travel mug", "cable ties", "dish sponges", "kitchen timer", "playing cards", "lint roller", "sunglasses",
    "pocket umbrella",
)  # fmt: skip
