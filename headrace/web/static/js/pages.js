// Every page: its title, the letter that follows `g`, the paths of its icon, and where its code is.

export const PAGES = {
  overview: { title: "Overview", letter: "o", icon: "M4 13h6V4H4zM14 20h6v-9h-6zM14 4v4h6V4zM4 20h6v-4H4z", load: () => import("./pages/overview.js") },
  topology: { title: "Topology", letter: "y", icon: "M3 9h6v6H3zM15 3h6v6h-6zM15 15h6v6h-6zM9 12h3V6h3M12 12v6h3", load: () => import("./pages/topology.js") },
  queries: { title: "Queries", letter: "q", icon: "M3 12h4l3-8 4 16 3-8h4", load: () => import("./pages/queries.js") },
  topics: { title: "Topics", letter: "t", icon: "M4 6h16M4 12h16M4 18h10", load: () => import("./pages/topics.js") },
  groups: { title: "Groups", letter: "g", icon: "M9 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM3 19c0-3 3-5 6-5s6 2 6 5M16 11a3 3 0 1 0-1-5.8M17 14c2.5.6 4 2.5 4 5", load: () => import("./pages/groups.js") },
  tables: { title: "Tables", letter: "b", icon: "M4 5h16v14H4zM4 10h16M4 14.5h16M10 10v9", load: () => import("./pages/tables.js") },
  alerts: { title: "Alerts", letter: "a", icon: "M6 16V11a6 6 0 1 1 12 0v5l2 2H4zM10 21h4", load: () => import("./pages/alerts.js") },
  "dead-letters": { title: "Dead letters", letter: "d", icon: "M3 6h18v13H3zM3 7l9 7 9-7", load: () => import("./pages/letters.js") },
  reports: { title: "Reports", letter: "r", icon: "M4 20V10M10 20V4M16 20v-7M21 20H3", load: () => import("./pages/reports.js") },
};
