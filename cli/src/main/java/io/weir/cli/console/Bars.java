// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import me.tongfei.progressbar.DelegatingProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** Progress bars of commands, shown only if standard error is a terminal. */
public final class Bars {
  /** System property that the start script sets if standard error is a terminal. */
  private static final String IS_WATCHED = "weir.terminal";

  private Bars() {}

  /** Returns the builder of a progress bar in the style of all commands. */
  public static ProgressBarBuilder named(String task) {
    ProgressBarBuilder builder =
        new ProgressBarBuilder()
            .setTaskName(task)
            .setStyle(ProgressBarStyle.ASCII)
            .setUpdateIntervalMillis(250);
    if (!onTerminal()) {
      builder.setConsumer(new DelegatingProgressBarConsumer(line -> {}));
    }
    return builder;
  }

  /** Returns whether the command runs on a terminal. */
  public static boolean onTerminal() {
    return Boolean.getBoolean(IS_WATCHED);
  }

  /** Shows the progress of a task, and sets the total of the bar. */
  public static void show(ProgressBar bar, String what, long done, long total) {
    bar.setExtraMessage(what);
    bar.maxHint(total);
    bar.stepTo(done);
  }
}
