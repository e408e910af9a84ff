"""What the shops sell: names, prices in cents, and how often a product is bought."""

from dataclasses import dataclass
from itertools import accumulate

_PRODUCTS = """
Rye bread 750 g            349 60 | Baguette                   129 80 | Butter croissant           119 70
Whole milk 1 l             125 95 | Oat drink 1 l              219 55 | Salted butter 250 g        279 60
Greek yoghurt 500 g        259 50 | Mature cheddar 200 g       399 40 | Free-range eggs 10         369 65
Bananas 1 kg               189 90 | Apples 1 kg                279 75 | Lemons 4                   199 35
Vine tomatoes 500 g        249 70 | Cucumber                    99 60 | Potatoes 2 kg              329 50
Carrots 1 kg               149 55 | Onions 1 kg                139 45 | Baby spinach 200 g         229 35
Chicken breast 500 g       699 40 | Minced beef 400 g          549 38 | Smoked salmon 150 g        599 22
Tofu 400 g                 289 18 | Spaghetti 500 g            115 60 | Basmati rice 1 kg          349 40
Tomato passata 700 g       159 45 | Olive oil 750 ml           999 25 | Sea salt 500 g              89 15
Black pepper 50 g          249 12 | Plain flour 1 kg           109 30 | Cane sugar 1 kg            169 25
Espresso beans 1 kg       1490 30 | Green tea 20 bags          279 25 | Orange juice 1 l           299 45
Sparkling water 6 x 1.5 l  299 60 | Craft lager 330 ml         189 50 | Pinot noir 750 ml         1190 20
Dark chocolate 100 g       219 50 | Hazelnut spread 400 g      449 30 | Salted crisps 175 g        199 45
Vanilla ice cream 900 ml   499 25 | Muesli 750 g               429 28 | Acacia honey 500 g         749 14
Dish soap 500 ml           179 25 | Laundry detergent 40       999 18 | Kitchen roll 4             349 30
Toothpaste 75 ml           249 28 | Shampoo 300 ml             399 20 | Nappies 44                1299 14
Cat food 12 x 85 g         649 22 | AA batteries 8             799 14 | LED bulb E27               449 10
Notebook A5                450 12 | Ballpoint pens 10          399 10 | Folding umbrella          1490  6
Cast-iron pan 28 cm       4990  3 | Electric kettle           3990  3 | Cordless drill           12900  1
Coffee machine           54900  1 | Robot vacuum             39900  1 | Noise-free headphones    32900  1
"""


@dataclass(frozen=True, slots=True)
class Product:
    """A product; ``share`` is its part of all units sold."""

    id: str
    name: str
    cents: int
    share: float


def _read(text: str) -> tuple[Product, ...]:
    rows = [cell.rsplit(maxsplit=2) for line in text.strip().splitlines() for cell in line.split("|")]
    total = sum(int(weight) for *_, weight in rows)
    return tuple(
        Product("-".join(name.lower().replace(".", "").split()), name.strip(), int(cents), int(weight) / total)
        for name, cents, weight in rows
    )


PRODUCTS = _read(_PRODUCTS)
POPULARITY = list(accumulate(product.share for product in PRODUCTS))
PRECIOUS = [number for number, product in enumerate(PRODUCTS) if product.cents >= 30_000]
