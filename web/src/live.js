// A page that follows a training: its server sends sections that changed.

export function followTraining(data, drawSections) {
  const status = document.getElementById("live-status");
  const events = new EventSource("events");
  let over = false; // whether the run has ended
  events.addEventListener("done", () => events.close());
  events.addEventListener("message", ({ data: text }) => {
    const news = JSON.parse(text);
    Object.assign(data.sections, news.sections);
    if (news.forest) data.forest = news.forest;
    if (status) status.textContent = news.status;
    document.documentElement.dataset.round = news.round;
    const bar = document.getElementById("live-progress");
    if (bar) [bar.max, bar.value] = [news.total, news.round];
    drawSections({ sections: news.sections, forest: news.forest });
    over = news.over;
  });
  events.addEventListener("error", () => {
    if (over) events.close();
    else if (status && events.readyState === EventSource.CLOSED) status.textContent = "The connection to the training has ended.";
  });
}
