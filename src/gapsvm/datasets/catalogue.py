"""The sets that have a name, and the checksums of their files."""

from __future__ import annotations

from dataclasses import replace

from gapsvm.datasets.dataset import DataFile, NamedSet
from gapsvm.datasets.readers import (
    read_conll,
    read_covtype,
    read_mnist,
    read_ocr,
    read_ranking,
    read_rna,
)

EMBEDDED = "a9a"
_TERMS = "For research; terms unclear, not to be redistributed."

_COVTYPE = NamedSet(
    "covtype",
    "Forest cover types, 7 classes, raw units. UCI, CC BY 4.0.",
    54,
    (DataFile("covtype.csv.xz", 581_012),),
    read=read_covtype,
)
_MNIST = NamedSet(
    "mnist",
    "Handwritten digits, 10 classes, pixels divided by 255.",
    784,
    (
        DataFile("train-images-idx3-ubyte.gz", 60_000),
        DataFile("train-labels-idx1-ubyte.gz", 60_000),
    ),
    (DataFile("t10k-images-idx3-ubyte.gz", 10_000), DataFile("t10k-labels-idx1-ubyte.gz", 10_000)),
    read=read_mnist,
)
_CONNECT4 = NamedSet(
    "connect-4",
    "Connect-4 positions after 8 moves: 0 draw, 1 loss, 2 win.",
    126,
    (DataFile("connect-4.bz2", 67_557),),
)
_NEWS20 = NamedSet(
    "news20",
    f"20 newsgroups by date, tf-idf: 20 classes. {_TERMS}",
    130_108,
    (DataFile("news20.xz", 11_314),),
    (DataFile("news20.t.xz", 7_532),),
)
_FIRST_TEN = tuple(range(1, 11))

SETS = {
    "a9a": NamedSet(
        "a9a",
        "Adult: does a person earn over 50,000 dollars? Binary features. UCI, CC BY 4.0.",
        123,
        (DataFile("a9a.bz2", 32_561),),
        (DataFile("a9a.t.bz2", 16_281),),
    ),
    "w8a": NamedSet(
        "w8a",
        f"Web pages of one category (3 percent) or not, by keywords. {_TERMS}",
        300,
        (DataFile("w8a.bz2", 49_749),),
        (DataFile("w8a.t.bz2", 14_951),),
    ),
    "ijcnn1": NamedSet(
        "ijcnn1",
        "IJCNN 2001 challenge. Do et al. train on the first 35,000 rows.",
        22,
        (DataFile("ijcnn1.bz2", 49_990),),
        (DataFile("ijcnn1.t.bz2", 91_701),),
    ),
    "covtype": _COVTYPE,
    "cov1": replace(
        _COVTYPE,
        description="Forest cover type 1 against the rest, columns in [0, 1]. UCI, CC BY 4.0.",
        positive=(1,),
        unit_columns=True,
    ),
    "cov2": replace(
        _COVTYPE,
        description="Forest cover type 2 against the rest, columns in [0, 1]. UCI, CC BY 4.0.",
        positive=(2,),
        unit_columns=True,
    ),
    "mnist": _MNIST,
    "mnist8": replace(
        _MNIST,
        description="Handwritten digits, 8 against the rest, pixels divided by 255.",
        positive=(8,),
    ),
    "connect-4": _CONNECT4,
    "connect4": replace(
        _CONNECT4,
        description="Connect-4 positions after 8 moves: a win against the rest.",
        positive=(2,),
    ),
    "news20-20": _NEWS20,
    "news20": replace(
        _NEWS20,
        description=f"20 newsgroups by date, tf-idf: classes 1-10 against 11-20. {_TERMS}",
        positive=_FIRST_TEN,
    ),
    "news20b": replace(
        _NEWS20,
        description=f"Bigrams of news20, 1-10 against 11-20, in place of news20.binary. {_TERMS}",
        n_features=1_181_833,
        train=(DataFile("news20-bigrams.xz", 11_314),),
        test=(),
        positive=_FIRST_TEN,
    ),
    "imdb": NamedSet(
        "imdb",
        f"Film reviews, tf-idf. Stands in for rcv1, astro-ph and real-sim. {_TERMS}",
        74_372,
        (DataFile("imdb.xz", 25_000),),
        (DataFile("imdb.t.xz", 25_000),),
    ),
    "reuters": NamedSet(
        "reuters",
        "Reuters-21578, money-fx or not; the Reuters of LASVM and Pegasos.",
        8_315,
        (DataFile("reuters.bz2", 7_770),),
        (DataFile("reuters.t.bz2", 3_299),),
    ),
    "usps": NamedSet(
        "usps",
        f"Handwritten digits, 10 classes, 16 x 16 pixels in [-1, 1]. {_TERMS}",
        256,
        (DataFile("usps.bz2", 7_291),),
        (DataFile("usps.t.bz2", 2_007),),
    ),
    "sector": NamedSet(
        "sector",
        f"Company web pages, 105 industry sectors. {_TERMS}",
        55_197,
        (DataFile("sector.bz2", 6_412),),
        (DataFile("sector.t.bz2", 3_207),),
    ),
    "letter": NamedSet(
        "letter",
        "Statlog letters, 26 classes, scaled.",
        16,
        (DataFile("letter.bz2", 15_000),),
        (DataFile("letter.t.bz2", 5_000),),
    ),
    "abalone": NamedSet(
        "abalone", "Age of abalones. Regression.", 8, (DataFile("abalone.bz2", 4_177),)
    ),
    "cadata": NamedSet(
        "cadata", "House prices in California. Regression.", 8, (DataFile("cadata.bz2", 20_640),)
    ),
    "cpusmall": NamedSet(
        "cpusmall", "CPU usage of a computer. Regression.", 12, (DataFile("cpusmall.bz2", 8_192),)
    ),
    "mq2008": NamedSet(
        "mq2008",
        f"LETOR 4.0, 784 queries. Fold 1 trains on S1-S3, validates on S4, tests on S5. {_TERMS}",
        46,
        (
            DataFile("S1.txt.gz", 2_933),
            DataFile("S2.txt.gz", 3_635),
            DataFile("S3.txt.gz", 3_062),
            DataFile("S4.txt.gz", 2_707),
            DataFile("S5.txt.gz", 2_874),
        ),
        read=read_ranking,
    ),
    "ohsumed": NamedSet(
        "ohsumed",
        f"LETOR 3.0, 106 queries, normalised by query. Folds as in mq2008. {_TERMS}",
        45,
        (
            DataFile("S1.txt.gz", 2_570),
            DataFile("S2.txt.gz", 3_076),
            DataFile("S3.txt.gz", 3_573),
            DataFile("S4.txt.gz", 3_538),
            DataFile("S5.txt.gz", 3_383),
        ),
        read=read_ranking,
    ),
    "ocr-letters": NamedSet(
        "ocr-letters",
        "Handwritten words letter by letter: 6,877 words, 26 letters, 10 folds. Taskar.",
        128,
        (DataFile("ocr-letters.npz", 52_152),),
        read=read_ocr,
    ),
    "conll2000": NamedSet(
        "conll2000",
        f"CoNLL 2000 chunking: sentences of tagged words. {_TERMS}",
        0,
        (DataFile("conll2000.zip", 8_936, member="conll2000/train.txt"),),
        (DataFile("conll2000.zip", 2_012, member="conll2000/test.txt"),),
        read=read_conll,
    ),
    "rna": NamedSet(
        "rna",
        "ArchiveII: RNA sequences, secondary structures without pseudoknots.",
        0,
        (DataFile("archiveII.csv.bz2", 3_975),),
        read=read_rna,
    ),
    "rcv1_train.binary": NamedSet(
        "rcv1_train.binary",
        "Reuters RCV1, tf-idf, two classes.",
        47_236,
        (DataFile("rcv1_train.binary", 20_242),),
        (DataFile("rcv1_test.binary", 677_399),),
    ),
    "real-sim": NamedSet(
        "real-sim",
        "Newsgroup articles, real against simulated, tf-idf.",
        20_958,
        (DataFile("real-sim", 72_309),),
    ),
    "news20.binary": NamedSet(
        "news20.binary",
        "20 newsgroups, two classes.",
        1_355_191,
        (DataFile("news20.binary", 19_996),),
    ),
    "combined": NamedSet(
        "combined",
        "SensIT vehicles, acoustic and seismic, 3 classes.",
        100,
        (DataFile("combined", 78_823),),
        (DataFile("combined.t", 19_705),),
    ),
    "ccat": NamedSet(
        "ccat",
        "Reuters RCV1, the category CCAT or not, trained on what is published as its test part.",
        47_236,
        (DataFile("ccat", 781_265),),
        (DataFile("ccat.t", 23_149),),
    ),
    "astro-ph": NamedSet(
        "astro-ph",
        "Abstracts of the physics archive, astro-ph or not.",
        99_757,
        (DataFile("astro-ph", 29_882),),
        (DataFile("astro-ph.t", 32_487),),
    ),
}

SHA256 = {
    "a9a/a9a.bz2": "d2c0a40d1962f557f09b4ce19a9db2f4171d7932fdfc76152d1823030981c8fa",
    "a9a/a9a.t.bz2": "e55725b53c3c47f7053bd3ef12e41555539eac4c0fe989e69345cc4dd0ea6e8d",
    "abalone/abalone.bz2": "9d24998fecb496cca34cb56386f99d36edc2aa113f800b1f7c02316e05da80f1",
    "cadata/cadata.bz2": "0fbe0a352168d381eaca44535713296a6df881536c7d69964b43d329af789fbd",
    "conll2000/conll2000.zip": "01e65164f268366e7caa0db92332a1955d081908c87016e2c7640c3c5279b7cd",
    "connect-4/connect-4.bz2": "0ce82545ea0ebd61614d80ddcdbcc72d522ab9b7a685b71d670b682b0d43151a",
    "covtype/covtype.csv.xz": "5087faa89346c62af6424141d4512b74cd850abe42fd10c2064c75288a87310b",
    "cpusmall/cpusmall.bz2": "92db0c01cbbb977ecbb96a0f5b8f5b19481c095cfcfac8958d00031e38898032",
    "ijcnn1/ijcnn1.bz2": "b38a4198ce142d43e96fb86d17b87211feec1f909ac344fa057455c69de29de3",
    "ijcnn1/ijcnn1.t.bz2": "acd1db430684fdd3f0c768ecc49aa8e749d0004fc117611220c2aa576a7b6a24",
    "imdb/imdb.t.xz": "b35e9b1b9a945915e14eb10ebb90cceb59d8a5dbf3f0fce7a3277721cb13c43d",
    "imdb/imdb.xz": "3c33f2f2755cf0103f86bcc79b2f0d619898db6a175af53280f7019950a16b06",
    "letter/letter.bz2": "5abf952504d60cf57a75f663735d73a963c76e4a60d09115736e09ca841e29a9",
    "letter/letter.t.bz2": "4fe53b480de7b2501fae6df8a92a879e98c434af9166e8b62e1b43f1ad2f9507",
    "mnist/t10k-images-idx3-ubyte.gz": (
        "1a1a05eab793c14bb050b398624a11b0ffd1a2953baed553b1b9bd079e2a20be"
    ),
    "mnist/t10k-labels-idx1-ubyte.gz": (
        "b91679a0acfe4ba0e50a2437a903084cba1f5f92592b016a25a7dfd00455798b"
    ),
    "mnist/train-images-idx3-ubyte.gz": (
        "0b367032e93c5d0cea0925647cfdb18614af8ee15f83e6f2fc2ad904a6835971"
    ),
    "mnist/train-labels-idx1-ubyte.gz": (
        "1787548bbe0bff1ec2ecdc0ef292b02df999e2d1a6002d27500982c652b17203"
    ),
    "mq2008/S1.txt.gz": "10212482d6f19ef538242c119d951445ec0b1d486b9d5cf8d83c7f52e4d4026d",
    "mq2008/S2.txt.gz": "939b7307823c281098fcdf203455fccc93edc95c9367d00906d595fdfe9271db",
    "mq2008/S3.txt.gz": "032216a93a46abc681260be09f3d359f02de76e3099dbf667eaaa60b6a41c6b7",
    "mq2008/S4.txt.gz": "c7bc4ddf6645c84232b5e7055ef00678fc6fbbd7946e6a166aa483af76868085",
    "mq2008/S5.txt.gz": "1b76af5009fc175033f6490bd1b8d116e14168bf5bc7d4b20e0aad86e23b5381",
    "news20/news20-bigrams.xz": "11f1cb8b3ce855698790ad3ff01ae83b6e1efe21e67b67aebf55342796c2e9e0",
    "news20/news20.t.xz": "75178062e64dda2bd564d9e8b70b2b513eed445f30b076dfdece362581c05f05",
    "news20/news20.xz": "dcfa32188ce846e76804edf7971b7c2879525d03c74a176e7d7596ac0e69e85c",
    "ocr-letters/ocr-letters.npz": (
        "db2a9293b18ac7bb3d44eebd4783d9cf44eda6bd9952d098f7dac23567a17e22"
    ),
    "ohsumed/S1.txt.gz": "ecebb4469dfceea69264f4ffe84925e0d8d1f036a5d0e03f31605600d5c66f35",
    "ohsumed/S2.txt.gz": "a4db68dd918db4324a77a571bd168b4ab4af5bc5258bc511f5871fbd3e0843e5",
    "ohsumed/S3.txt.gz": "c73927841ce37c349dc3a282d095a7c08478e3862c2ea31b28113ca0dc8fbb32",
    "ohsumed/S4.txt.gz": "05d832d470720c151303ed53637fd98b0d81f1a93111609fdb8f2099cfbbf1cb",
    "ohsumed/S5.txt.gz": "90165ee2204dde5f6790d7ff7439625c4813ac05b8e36bb77d4e71391c2565a4",
    "reuters/reuters.bz2": "e77a3368662c02caebe0d9cbcc97d856019bcfb33a8e9b7c48e0b51ee4cdfb60",
    "reuters/reuters.t.bz2": "3d699b9644a38160bf3228059d18fbfc07474057d8e82d512576a2b82d72e211",
    "rna/archiveII.csv.bz2": "cc8d2b57ac502bfb46cd4b4f25d69a0abd92e91aab99869a574a84bc9f918263",
    "sector/sector.bz2": "cba3d66eed97803665eeb76379fe9d9955712ea0e5c61d7003f644713ed842b5",
    "sector/sector.t.bz2": "c8c26e073abd92dda9e2a7903546fbe3c783a8d6141ec3fad360de4c0a572cbc",
    "usps/usps.bz2": "a063aa911b43b5fd54fae193dc5e5ff48c3c252788761994e3dd5832c238378e",
    "usps/usps.t.bz2": "01e5b05dd0bc8efafbffd2ab1b690f53fcc96959dd7fae51d51b45321a49cf8c",
    "w8a/w8a.bz2": "d7fe0ec5079fb8fb0901f85ecbbf87e05698600dc0326e0edbe222426b438801",
    "w8a/w8a.t.bz2": "91f95d3e1633dbb3b9d61f1452ddad6c6dea5d1edf8d9919413715c14291a7e0",
}
