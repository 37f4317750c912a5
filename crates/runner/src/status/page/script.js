// Fetches the page every five seconds and puts its main part in the place of the old one.
// What the reader has opened stays open, and nothing moves while the reader has paused.
"use strict";
(() => {
  const button = document.getElementById("pause");
  let paused = false;
  const refresh = async () => {
    if (paused || document.hidden) return;
    try {
      const answer = await fetch("/", { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (paused) return;
      const open = [...document.querySelectorAll("details[open]")].map((of) => of.id);
      for (const part of ["main", ".live > span"]) {
        document.querySelector(part).replaceWith(fresh.querySelector(part));
      }
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      document.body.classList.remove("stale");
    } catch {
      document.body.classList.add("stale");
    }
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Resume" : "Pause";
    refresh();
  });
  setInterval(refresh, 5000);
})();
