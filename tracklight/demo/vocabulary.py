"""The words whose vectors the demo shows, by what they are about."""

from __future__ import annotations

#: Words come in pairs where a category has a second one: each is to the other as all others are.
PAIRS = {
    ("country", "capital"): """
        france/paris germany/berlin spain/madrid italy/rome portugal/lisbon austria/vienna
        greece/athens poland/warsaw sweden/stockholm norway/oslo denmark/copenhagen
        finland/helsinki ireland/dublin hungary/budapest russia/moscow turkey/ankara egypt/cairo
        kenya/nairobi ghana/accra morocco/rabat japan/tokyo china/beijing india/delhi
        thailand/bangkok vietnam/hanoi korea/seoul iran/tehran iraq/baghdad cuba/havana peru/lima
        chile/santiago canada/ottawa
    """,
    ("man", "woman"): """
        king/queen prince/princess man/woman boy/girl father/mother son/daughter brother/sister
        uncle/aunt nephew/niece husband/wife actor/actress waiter/waitress host/hostess
        hero/heroine lord/lady duke/duchess emperor/empress monk/nun grandfather/grandmother
        sir/madam
    """,
    ("present", "past"): """
        go/went see/saw take/took give/gave come/came know/knew think/thought find/found
        write/wrote run/ran eat/ate drink/drank sing/sang swim/swam fly/flew grow/grew
        throw/threw bring/brought buy/bought catch/caught teach/taught sleep/slept speak/spoke
        break/broke choose/chose drive/drove ride/rode rise/rose fall/fell begin/began win/won
        lose/lost send/sent build/built keep/kept leave/left meet/met stand/stood hold/held
    """,
    ("good", "better"): """
        good/better bad/worse big/bigger small/smaller fast/faster slow/slower tall/taller
        short/shorter long/longer young/younger old/older warm/warmer cold/colder strong/stronger
        weak/weaker rich/richer poor/poorer bright/brighter dark/darker loud/louder quiet/quieter
        deep/deeper high/higher low/lower wide/wider
    """,
}

GROUPS = {
    "animal": """
        cat dog horse cow sheep goat pig chicken duck goose rabbit mouse rat fox wolf bear lion
        tiger elephant giraffe zebra monkey camel donkey deer moose otter beaver seal whale dolphin
        shark salmon trout eagle owl raven sparrow robin swan frog toad snake lizard turtle bee ant
        spider butterfly
    """,
    "fruit": """
        apple pear plum cherry peach apricot orange lemon lime grapefruit banana mango papaya
        pineapple melon grape fig date olive strawberry raspberry blueberry blackberry cranberry
        gooseberry coconut kiwi pomegranate
    """,
    "vegetable": """
        carrot potato onion garlic cabbage spinach lettuce celery leek turnip radish beet pumpkin
        cucumber tomato pepper bean pea lentil broccoli cauliflower mushroom asparagus artichoke
    """,
    "colour": """
        red green blue yellow purple brown black white grey pink violet crimson scarlet turquoise
        beige maroon indigo
    """,
    "number": """
        one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        twenty thirty forty fifty sixty hundred thousand million
    """,
    "body": """
        head face eye ear nose mouth lip tooth tongue neck shoulder arm elbow hand finger thumb
        chest back hip leg knee foot toe heart lung liver brain bone skin blood
    """,
    "music": """
        piano violin cello viola harp flute oboe clarinet trumpet trombone horn tuba guitar banjo
        drum cymbal organ accordion orchestra choir melody rhythm harmony symphony
    """,
    "profession": """
        doctor nurse teacher lawyer judge farmer baker butcher carpenter plumber tailor cook pilot
        sailor soldier engineer chemist painter poet author singer dancer librarian clerk
    """,
    "transport": """
        car bus train tram bicycle motorcycle truck van ship boat ferry canoe plane helicopter
        rocket wagon sledge subway taxi scooter
    """,
    "weather": """
        rain snow hail wind storm thunder lightning fog mist cloud sun frost ice drought flood
        breeze hurricane tornado
    """,
    "house": """
        table chair sofa bed lamp shelf cupboard drawer mirror carpet curtain door window wall roof
        floor stairs kitchen cellar attic garden fence
    """,
    "clothing": """
        shirt blouse trousers skirt dress coat jacket scarf glove hat cap sock shoe boot sandal belt
        tie sweater apron
    """,
    "computing": """
        computer keyboard screen printer network server database program compiler algorithm memory
        processor file folder password browser robot sensor
    """,
    "time": """
        second minute hour day week month year decade century morning noon evening night yesterday
        today tomorrow spring summer autumn winter
    """,
}
