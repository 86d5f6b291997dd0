// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.jspecify.annotations.Nullable;

/**
 * Shows the progress of a test run. Prints a line for each completed module. On a terminal, also
 * shows a progress bar of the test classes. Not thread-safe.
 */
final class Progress implements MavenLog.Listener, AutoCloseable {
  /** The parent module, which contains no code. */
  private static final String ROOT = "weir";

  private final PrintWriter out;
  private final Map<String, String> moduleOfClass;
  private final Map<String, Long> begunNanos = new HashMap<>();
  private final Map<String, Integer> tests = new HashMap<>();
  private final Set<String> told = new HashSet<>();
  private final Set<String> built = new TreeSet<>();
  private final Set<String> broken = new TreeSet<>();
  private final long startNanos = System.nanoTime();
  private final @Nullable ProgressBar bar;

  /**
   * Creates the display of a run.
   *
   * @param moduleOfClass the module of every expected test class
   * @param terminal whether the output is a terminal
   */
  Progress(PrintWriter out, Map<String, String> moduleOfClass, boolean terminal) {
    this.out = out;
    this.moduleOfClass = Map.copyOf(moduleOfClass);
    this.bar =
        terminal
            ? new ProgressBarBuilder()
                .setTaskName("test")
                .setUnit(" classes", 1)
                .setInitialMax(moduleOfClass.size())
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(500)
                .build()
            : null;
  }

  @Override
  public void moduleBegan(String module) {
    begunNanos.put(module, System.nanoTime());
    if (bar != null) {
      bar.setExtraMessage(module);
    }
  }

  @Override
  public void classEnded(String className, int count) {
    tests.merge(moduleOfClass.getOrDefault(className, ""), count, Integer::sum);
    if (bar != null) {
      bar.step();
      bar.setExtraMessage(className.substring(className.lastIndexOf('.') + 1));
    }
  }

  @Override
  public void moduleTested(String module) {
    tell(module, "");
  }

  @Override
  public void moduleEnded(String module, String status) {
    boolean isBuilt = status.equals("SUCCESS");
    if (isBuilt) {
      built.add(module);
    } else if (status.equals("FAILURE")) {
      broken.add(module);
      told.remove(module); // print another line with the result
    }
    tell(module, isBuilt ? "" : status);
  }

  private void tell(String module, String status) {
    if (!told.add(module) || module.equals(ROOT)) {
      return;
    }
    long now = System.nanoTime();
    String line =
        String.format(
            Locale.ROOT,
            "%s  %-20s %5d tests  %4d s%s",
            clock(now - startNanos),
            module,
            tests.getOrDefault(module, 0),
            Duration.ofNanos(now - begunNanos.getOrDefault(module, now)).toSeconds(),
            status.isEmpty() ? "" : "  " + status);
    out.println(bar == null ? line : "\r" + line + "\u001b[K");
    out.flush();
  }

  /** Returns the modules that Maven has built without a failure. */
  Set<String> built() {
    return built;
  }

  /** Returns the modules whose build failed, because of a test or for another reason. */
  Set<String> broken() {
    return broken;
  }

  static String clock(long nanos) {
    Duration passed = Duration.ofNanos(nanos);
    return String.format(Locale.ROOT, "%2d:%02d", passed.toMinutes(), passed.toSecondsPart());
  }

  @Override
  public void close() {
    if (bar != null) {
      bar.close();
    }
  }
}
