// Where the shops are: degrees east and north, for the map.

export const CITIES = {
  Lisbon: [-9, 39],
  Dublin: [-6, 53],
  London: [0, 51],
  Madrid: [-4, 40],
  Paris: [2, 49],
  Amsterdam: [5, 52],
  Oslo: [11, 60],
  Berlin: [13, 53],
  Vienna: [16, 48],
  Rome: [12, 42],
  Stockholm: [18, 59],
  Warsaw: [21, 52],
  Athens: [24, 38],
  Helsinki: [25, 60],
  Cairo: [31, 30],
  "Cape Town": [18, -34],
  Istanbul: [29, 41],
  Nairobi: [37, -1],
  Dubai: [55, 25],
  Mumbai: [73, 19],
  Bangkok: [100, 14],
  Jakarta: [107, -6],
  Singapore: [104, 1],
  Taipei: [121, 25],
  Seoul: [127, 38],
  Tokyo: [140, 36],
  Sydney: [151, -34],
  Auckland: [175, -37],
  Honolulu: [-158, 21],
  Vancouver: [-123, 49],
  "Mexico City": [-99, 19],
  Toronto: [-79, 44],
  "Buenos Aires": [-58, -35],
};

/** Return the city of a shop such as S07: three shops are in each. */
export function cityOf(shop) {
  return Object.keys(CITIES)[Math.floor((Number(shop.slice(1)) - 1) / 3)] ?? "Web";
}
