// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;
import org.jspecify.annotations.Nullable;

/**
 * Draws a flame graph of a Java Flight Recorder recording as an SVG. A box represents a method, and
 * is above the box of the calling method. The width of a box is the method's share of the samples.
 * The boxes at the bottom are threads, by name. The graph omits waiting threads, and boxes with
 * less than 0.6 % of the samples.
 *
 * @see <a href="https://doi.org/10.1145/2909476">Gregg, The Flame Graph, CACM 59 (2016)</a>
 */
final class FlameGraph {
  private static final Set<String> SAMPLES =
      Set.of("jdk.ExecutionSample", "jdk.NativeMethodSample");

  /** Methods in which a thread waits for an event outside the process. */
  private static final Set<String> WAITING =
      Set.of("sun.nio.ch.EPoll.wait", "java.io.FileInputStream.readBytes");

  private static final double LEAST_SHARE = 0.006;
  private static final int WIDTH = 1_400;
  private static final int ROW = 16;
  private static final double LETTER = 6.2;
  private static final String STYLE =
      """
      <style>
      svg { background: #fff; color: #222 } rect { stroke: #fff; stroke-width: .5 } text { fill: currentColor }
      .weir { fill: #7cb5ec } .jetty { fill: #f7c87a } .lettuce { fill: #a5d6a7 } .kafka { fill: #ce93d8 } .jdk { fill: #d7d7d7 } .other { fill: #efa79d }
      @media (prefers-color-scheme: dark) {
      svg { background: #16181c; color: #eee } rect { stroke: #16181c }
      .weir { fill: #2c5f8a } .jetty { fill: #8a6520 } .lettuce { fill: #2f6b33 } .kafka { fill: #6a3a75 } .jdk { fill: #444 } .other { fill: #83453c }
      }
      </style>
      """;

  private final Map<String, FlameGraph> callees = new TreeMap<>();
  private long samples;

  private FlameGraph() {}

  /**
   * Draws a recording.
   *
   * @param arguments the recording and the output file
   */
  static void draw(List<String> arguments, PrintStream out) throws IOException {
    if (arguments.size() != 2) {
      throw new IllegalArgumentException("flame takes a recording and the SVG to write");
    }
    Path recording = Path.of(arguments.get(0));
    FlameGraph root = read(recording);
    if (root.samples == 0) {
      throw new IllegalArgumentException(recording + " has no samples");
    }
    Path svg = Path.of(arguments.get(1));
    Files.writeString(svg, root.svg());
    out.printf("%s: %,d samples%n", svg, root.samples);
  }

  private static FlameGraph read(Path recording) throws IOException {
    FlameGraph root = new FlameGraph();
    try (RecordingFile file = new RecordingFile(recording)) {
      while (file.hasMoreEvents()) {
        RecordedEvent event = file.readEvent();
        if (SAMPLES.contains(event.getEventType().getName()) && event.getStackTrace() != null) {
          List<RecordedFrame> frames = event.getStackTrace().getFrames();
          if (!WAITING.contains(name(frames.get(0)))) {
            root.add(event.getThread("sampledThread"), frames);
          }
        }
      }
    }
    return root;
  }

  private void add(@Nullable RecordedThread thread, List<RecordedFrame> frames) {
    samples++;
    String name = thread == null ? null : thread.getJavaName();
    FlameGraph node =
        callee(name == null || name.isEmpty() ? "virtual threads" : name.replaceAll("\\d+", "n"));
    for (int i = frames.size() - 1; i >= 0; i--) {
      node = node.callee(name(frames.get(i)));
    }
  }

  /** Returns the class and method, without the numbers of hidden classes. */
  private static String name(RecordedFrame frame) {
    String type = frame.getMethod().getType().getName().replaceAll("[./]0x[0-9a-f]+", "");
    return type + "." + frame.getMethod().getName();
  }

  private FlameGraph callee(String name) {
    FlameGraph callee = callees.computeIfAbsent(name, it -> new FlameGraph());
    callee.samples++;
    return callee;
  }

  private int depth(long least) {
    int deepest = 0;
    for (FlameGraph callee : callees.values()) {
      if (callee.samples >= least) {
        deepest = Math.max(deepest, 1 + callee.depth(least));
      }
    }
    return deepest;
  }

  private String svg() {
    long least = Math.max(1, (long) (samples * LEAST_SHARE));
    int height = (depth(least) + 2) * ROW;
    StringBuilder svg = new StringBuilder();
    String title =
        String.format(
            Locale.ROOT, "%,d samples; less than %.1f %% left out", samples, 100 * LEAST_SHARE);
    svg.append(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" font-family=\"monospace\" font-size=\"10\" ")
        .append(String.format(Locale.ROOT, "viewBox=\"0 0 %d %d\">%n", WIDTH, height))
        .append(STYLE)
        .append("<text x=\"4\" y=\"12\">")
        .append(title)
        .append("</text>\n");
    boxes(svg, 0, height - ROW, (double) WIDTH / samples, least);
    return svg.append("</svg>\n").toString();
  }

  private void boxes(StringBuilder svg, double left, int top, double perSample, long least) {
    double at = left;
    for (Map.Entry<String, FlameGraph> entry : callees.entrySet()) {
      FlameGraph callee = entry.getValue();
      double width = callee.samples * perSample;
      if (callee.samples >= least) {
        box(svg, entry.getKey(), at, top, width, 100 * width / WIDTH);
        callee.boxes(svg, at, top - ROW, perSample, least);
      }
      at += width;
    }
  }

  private static void box(
      StringBuilder svg, String name, double x, int y, double width, double share) {
    String escaped = name.replace("&", "&amp;").replace("<", "&lt;");
    String brief = name.replaceAll("^.*\\.(?=[^.]+\\.[^.]+$)", "");
    int letters = (int) (width / LETTER);
    String shown =
        brief.length() <= letters ? brief : letters < 4 ? "" : brief.substring(0, letters);
    svg.append(
        String.format(
            Locale.ROOT,
            "<g><title>%s %.1f %%</title><rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
            escaped,
            share,
            kind(name),
            x,
            y,
            width,
            ROW - 1));
    if (!shown.isEmpty()) {
      svg.append(
          String.format(
              Locale.ROOT,
              "<text x=\"%.1f\" y=\"%d\">%s</text>",
              x + 2,
              y + 11,
              shown.replace("&", "&amp;").replace("<", "&lt;")));
    }
    svg.append("</g>\n");
  }

  private static String kind(String name) {
    if (name.startsWith("io.weir.")) {
      return "weir";
    }
    if (name.startsWith("org.eclipse.jetty.") || name.startsWith("io.javalin.")) {
      return "jetty";
    }
    if (name.startsWith("io.lettuce.") || name.startsWith("io.netty.")) {
      return "lettuce";
    }
    if (name.startsWith("org.apache.kafka.") || name.startsWith("org.rocksdb.")) {
      return "kafka";
    }
    boolean isJdk = name.startsWith("java.") || name.startsWith("jdk.") || name.startsWith("sun.");
    return isJdk ? "jdk" : "other";
  }
}
