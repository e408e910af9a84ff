"""What customers do: buy, have it brought, give it back; and what thieves do with their cards."""

import random
from bisect import bisect
from collections.abc import Callable
from datetime import datetime, timedelta

from examples.retail.simulator import people
from examples.retail.simulator.agenda import Agenda
from examples.retail.simulator.catalogue import POPULARITY, PRECIOUS, PRODUCTS
from examples.retail.simulator.lorries import Lorries
from examples.retail.simulator.sent import RESERVATIONS, Sent, Value
from examples.retail.simulator.shops import CITIES, SHOPS
from examples.retail.simulator.stock import Stock
from examples.retail.simulator.tills import Tills

_WEB = len(SHOPS) - 1
_SECOND = timedelta(seconds=1)
_NUMBERS = {product.id: number for number, product in enumerate(PRODUCTS)}
_MOST_LINES = 12
_UNITS = (1, 1, 1, 1, 1, 1, 2, 2, 3, 4)
_RETURNED = 0.03  # of all invoices
_WHOLLY = 0.3  # of all returns; of the others one line is given back
_REMEMBERED = 4000  # sales that may be returned
_CARD = 0.8  # of all invoices; the web shop takes nothing else
_STOLEN, _REFUNDED = 1 / 1500, 1 / 3000  # of all invoices: cards that are copied, and dear things that come back soon
_GANG_EVERY, _GANG_STAYS, _GANG = 900.0, 120.0, 20  # seconds from one gang to the next, and times as many copied cards
_DELIVERED = (0.02, 0.7)  # of all invoices of shops, and of the web shop
_RESERVED, _RESERVED_LATE = 0.94, 0.97  # in time, or after the time; else never
_WAREHOUSES = ("north", "south", "east", "west")


class Customers:
    """All of them.

    Args:
        chance: Of what they do.
        agenda: Of what they will do.
        stock: What they can buy.
        lorries: Who bring more.
        tills: Where they pay.
        choose: Returns the number of a shop that is open.
    """

    def __init__(
        self,
        chance: random.Random,
        agenda: Agenda,
        *,
        stock: Stock,
        lorries: Lorries,
        tills: Tills,
        choose: Callable[[], int],
    ) -> None:
        self._chance, self._agenda, self._stock, self._lorries = chance, agenda, stock, lorries
        self._tills, self._choose = tills, choose
        self._sales: list[tuple[int, Value]] = []
        self._gang_until = agenda.now
        self._plan_gang(agenda.now)

    def come(self, at: datetime) -> None:
        """Let the next customer buy something, or give it back."""
        at = at.replace(microsecond=at.microsecond // 1000 * 1000)
        if self._sales and self._chance.random() < _RETURNED:
            self._give_back(*self._sales.pop(self._chance.randrange(len(self._sales))), at)
            return
        shop = self._choose()
        web = shop == _WEB
        person = people.anyone(self._chance) if web else people.someone(self._chance, SHOPS[shop].city)
        card = person.card if web or self._chance.random() < _CARD else None
        self._buy(shop, self._basket(shop, at), card, person.loyalty, at)
        if card is not None and not web:
            self._tempt(shop, person, at)

    def _tempt(self, shop: int, person: people.Person, at: datetime) -> None:
        luck = self._chance.random()
        stolen = _STOLEN * (_GANG if at < self._gang_until else 1)
        if luck < stolen:
            later = at + self._chance.uniform(20, 240) * _SECOND
            self._agenda.at(later, lambda time: self._steal(person, time))
        elif luck < stolen + _REFUNDED:
            self._buy_dear(shop, person, at)

    def _plan_gang(self, at: datetime) -> None:
        self._agenda.at(at + self._chance.expovariate(1 / _GANG_EVERY) * _SECOND, self._gang)

    def _gang(self, at: datetime) -> None:
        """Have many cards copied for a while."""
        self._gang_until = at + _GANG_STAYS * _SECOND
        self._plan_gang(at)

    def _basket(self, shop: int, at: datetime) -> dict[int, int]:
        """Return units by product, of what is there."""
        chance, found = self._chance, dict[int, int]()
        for _ in range(min(1 + int(chance.expovariate(0.45)), _MOST_LINES)):
            product = min(bisect(POPULARITY, chance.random()), len(PRODUCTS) - 1)
            units = 1 if PRODUCTS[product].cents > 1000 else _UNITS[int(chance.random() * len(_UNITS))]
            if product not in found and self._stock.take(shop, product, units):
                found[product] = units
                self._lorries.look(shop, product, at)
        return found

    def _buy(
        self, shop: int, basket: dict[int, int], card: str | None, loyalty: str | None, at: datetime
    ) -> Value | None:
        if not basket:  # all was sold out
            return None
        delivery = self._delivery(shop, at)
        sale = self._invoice(shop, basket, at, card=card, loyalty=loyalty, delivery=delivery, refund_of=None)
        if len(self._sales) < _REMEMBERED:
            self._sales.append((shop, sale))
        else:
            self._sales[self._chance.randrange(_REMEMBERED)] = (shop, sale)
        if delivery:
            self._reserve(sale["invoice"], at)
        return sale

    def _invoice(self, shop: int, basket: dict[int, int], at: datetime, **more: object) -> Value:
        where = SHOPS[shop]
        till = self._chance.randint(1, where.tills)
        lines = [
            {"product": PRODUCTS[p].id, "name": PRODUCTS[p].name, "units": n, "cents": n * PRODUCTS[p].cents}
            for p, n in basket.items()
        ]
        cents = sum(n * PRODUCTS[p].cents for p, n in basket.items())
        head = {"invoice": self._tills.number(where.id, till), "shop": where.id, "city": where.city, "till": till}
        invoice = {**head, "kind": "sale" if cents > 0 else "return", "lines": lines, "cents": cents, **more}
        self._agenda.send(*self._tills.leave(invoice, at))
        return invoice

    def _delivery(self, shop: int, at: datetime) -> dict[str, str] | None:
        """Return where to, for those who have it brought; a shop that is cut off cannot ask the warehouse."""
        if self._chance.random() >= _DELIVERED[shop == _WEB] or self._tills.is_cut_off(SHOPS[shop].id, at):
            return None
        city = self._chance.choice(CITIES) if shop == _WEB else SHOPS[shop].city
        return {"address": people.address(self._chance), "city": city}

    def _reserve(self, invoice: str, at: datetime) -> None:
        luck = self._chance.random()
        if luck >= _RESERVED_LATE:
            return
        wait = self._chance.uniform(40, 100) if luck < _RESERVED else self._chance.uniform(400, 600)
        due = at + round(wait) * _SECOND
        value = {"invoice": invoice, "warehouse": self._chance.choice(_WAREHOUSES), "at": due}
        self._agenda.send(Sent(due, RESERVATIONS, invoice, value))

    def _give_back(self, shop: int, sale: Value, at: datetime) -> None:
        """Return a sale, or one line of it, to the shop that sold it, if that is open."""
        if not SHOPS[shop].is_open(at):
            return
        lines = sale["lines"] if self._chance.random() < _WHOLLY else [self._chance.choice(sale["lines"])]
        basket = {_NUMBERS[line["product"]]: -line["units"] for line in lines}
        for product, units in basket.items():
            self._stock.put(shop, product, -units)
        same = {"card": sale["card"], "loyalty": sale["loyalty"]}
        self._invoice(shop, basket, at, **same, delivery=None, refund_of=sale["invoice"])

    def _steal(self, person: people.Person, at: datetime) -> None:
        """Use a copy of somebody's card in another city."""
        at = at.replace(microsecond=at.microsecond // 1000 * 1000)
        shop = self._choose()
        if shop != _WEB and SHOPS[shop].city != person.city:
            self._buy(shop, self._basket(shop, at), person.card, None, at)

    def _buy_dear(self, shop: int, person: people.Person, at: datetime) -> None:
        """Buy something dear, and have it refunded soon."""
        product = self._chance.choice(PRECIOUS)
        if not self._stock.take(shop, product, 1):
            return
        card = person.card if self._chance.random() < _CARD else None
        sale = self._invoice(shop, {product: 1}, at, card=card, loyalty=person.loyalty, delivery=None, refund_of=None)
        later = (at + self._chance.uniform(30, 180) * _SECOND).replace(microsecond=0)
        self._agenda.at(later, lambda time: self._give_back(shop, sale, time))
