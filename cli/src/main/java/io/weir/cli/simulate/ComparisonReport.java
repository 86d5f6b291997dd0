// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import java.util.List;
import java.util.Locale;

/**
 * An HTML page with a comparison of algorithms, which loads no other resource. The page has the
 * table, and a chart for each algorithm. A chart shows, for each moment, the number of calls
 * admitted within the previous window. Light and dark mode follow the reader's preference.
 */
final class ComparisonReport {
  private static final int WIDTH = 900;
  private static final int HEIGHT = 220;
  private static final int LEFT = 48;
  private static final int BOTTOM = 24;
  private static final String STYLE =
      """
      <style>
      :root { color-scheme: light dark; --paper: #fff; --ink: #1d2329; --soft: #8a929b; --line: #dfe3e8;
        --admitted: #1f6feb; --asked: #b9c2cc; --exact: #2da44e; --limit: #cf222e }
      @media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e6e9ec; --soft: #8a929b;
        --line: #2c3239; --admitted: #58a6ff; --asked: #4b545e; --exact: #3fb950; --limit: #ff7b72 } }
      body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
        max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
      table { border-collapse: collapse } th, td { padding: .3rem .8rem; text-align: right;
        border-bottom: 1px solid var(--line) } th:first-child, td:first-child { text-align: left }
      svg { width: 100%; height: auto } svg text { fill: var(--soft); font-size: 11px }
      .asked { fill: none; stroke: var(--asked) } .exact { fill: none; stroke: var(--exact) }
      .admitted { fill: none; stroke: var(--admitted); stroke-width: 1.8 }
      .limit { stroke: var(--limit); stroke-dasharray: 5 4 } .axis { stroke: var(--line) }
      .key span { margin-right: 1.2rem } .key .a { color: var(--admitted) } .key .e { color: var(--exact) }
      .key .o { color: var(--soft) } .key .l { color: var(--limit) }
      </style>
      """;

  private final String title;
  private final String subtitle;
  private final long limit;
  private final StringBuilder page = new StringBuilder();

  /**
   * Creates a page.
   *
   * @param title the title, one line
   * @param subtitle a sentence that describes the traffic
   */
  ComparisonReport(String title, String subtitle, long limit) {
    this.title = title;
    this.subtitle = subtitle;
    this.limit = limit;
  }

  /**
   * The curves of one algorithm. Immutable.
   *
   * @param figures result of the algorithm
   * @param admitted for each moment, the number of calls admitted within the previous window
   */
  record Curve(AlgorithmRun.Figures figures, List<Integer> admitted) {
    Curve {
      admitted = List.copyOf(admitted);
    }
  }

  /**
   * Returns the page.
   *
   * @param asked for each moment, the number of calls within the previous window
   * @param exact for each moment, the number of calls that the exact sliding window admits within
   *     the previous window
   * @param span time span of the charts, shown at the right end of each chart
   */
  String page(List<Curve> curves, List<Integer> asked, List<Integer> exact, String span) {
    page.append("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>")
        .append("<meta name=\"viewport\" content=\"width=device-width\"/><title>")
        .append(escaped(title))
        .append("</title>\n")
        .append(STYLE)
        .append("</head><body>\n<h1>")
        .append(escaped(title))
        .append("</h1>\n<p>")
        .append(escaped(subtitle))
        .append("</p>\n");
    table(curves);
    page.append("<p class=\"key\"><span class=\"a\">— admitted in the previous window</span>")
        .append("<span class=\"e\">— admitted by the exact sliding window</span>")
        .append("<span class=\"o\">— calls</span><span class=\"l\">- - limit</span></p>\n");
    int most = 1;
    for (int count : asked) {
      most = Math.max(most, count);
    }
    for (Curve curve : curves) {
      picture(curve, asked, exact, Math.max(most, (int) limit), span);
    }
    return page.append("</body></html>\n").toString();
  }

  private void table(List<Curve> curves) {
    page.append("<table><thead><tr><th>algorithm</th><th>admitted</th><th>wrongly admitted</th>")
        .append(
            "<th>wrongly denied</th><th>worst window</th><th>mean error</th></tr></thead><tbody>\n");
    for (Curve curve : curves) {
      AlgorithmRun.Figures figures = curve.figures;
      page.append(
          String.format(
              Locale.ROOT,
              "<tr><td>%s</td><td>%,d</td><td>%,d</td><td>%,d</td><td>%,d</td><td>%.1f %%</td></tr>%n",
              escaped(figures.algorithm().name()),
              figures.admitted(),
              figures.wronglyAdmitted(),
              figures.wronglyDenied(),
              figures.worstWindow(),
              100 * figures.meanError()));
    }
    page.append("</tbody></table>\n");
  }

  private void picture(
      Curve curve, List<Integer> asked, List<Integer> exact, int most, String span) {
    SimulatedAlgorithm algorithm = curve.figures.algorithm();
    page.append("<h2>")
        .append(escaped(algorithm.name()))
        .append("</h2>\n<p>")
        .append(escaped(algorithm.words()))
        .append("</p>\n")
        .append(
            String.format(
                Locale.ROOT,
                "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"what %s admitted\">",
                LEFT + WIDTH,
                HEIGHT + BOTTOM + 8,
                escaped(algorithm.name())));
    page.append(
        String.format(
            Locale.ROOT,
            "<line class=\"axis\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>"
                + "<line class=\"limit\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
                + "<text x=\"4\" y=\"%.1f\">%,d</text><text x=\"4\" y=\"%d\">0</text>"
                + "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n",
            LEFT,
            HEIGHT,
            LEFT + WIDTH,
            HEIGHT,
            LEFT,
            y((int) limit, most),
            LEFT + WIDTH,
            y((int) limit, most),
            y((int) limit, most) + 4,
            limit,
            HEIGHT + 4,
            LEFT + WIDTH,
            HEIGHT + BOTTOM - 6,
            escaped(span)));
    line("asked", asked, most);
    line("exact", exact, most);
    line("admitted", curve.admitted, most);
    page.append("</svg>\n");
  }

  private void line(String kind, List<Integer> counts, int most) {
    page.append("<polyline class=\"").append(kind).append("\" points=\"");
    for (int i = 0; i < counts.size(); i++) {
      double x = LEFT + (double) WIDTH * i / Math.max(1, counts.size() - 1);
      page.append(String.format(Locale.ROOT, "%.1f,%.1f ", x, y(counts.get(i), most)));
    }
    page.append("\"/>\n");
  }

  private static double y(int count, int most) {
    return HEIGHT - (HEIGHT - 10.0) * count / most;
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }
}
