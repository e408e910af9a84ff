// A report for the tests: it asks, follows and draws, with what the dashboard gives it.
export function show(element, api) {
  const said = api.el("p", { class: "said" }, "nothing yet");
  const topic = new URLSearchParams(location.hash.split("?")[1]).get("topic");
  element.append(api.el("h2", {}, "Numbers so far"), said);
  const chart = api.chart(element, { label: "Numbers", series: [{ label: "number" }] });
  chart.set([[1, 2, 3], [4, 5, 6]]);
  let sum = 0;
  api.stream(topic, (events) => {
    for (const event of events) sum += event.value.number;
    said.textContent = `sum ${sum}`;
  }, { start: "tail:10" });
  return () => document.body.setAttribute("data-left", "report");
}
