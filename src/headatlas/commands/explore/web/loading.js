const main = document.querySelector("main");
async function look() {
  try {
    const state = await (await fetch("state")).json();
    if (state.ready) return location.reload();
    document.querySelectorAll("li").forEach((item, place) => {
      item.className = place < state.stage ? "done" : place === state.stage ? "now" : "";
    });
    main.classList.toggle("failed", state.failure !== null);
    document.querySelector("p").textContent = state.failure ?? `${state.seconds} s`;
    if (state.failure === null) setTimeout(look, 300);
  } catch {
    main.className = "failed";
    document.querySelector("p").textContent = "The server has stopped. The terminal says why.";
  }
}
look();
