// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.weir.testing.Await;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A browser without a window, where this machine has one. */
final class Chromium {
  private Chromium() {}

  /**
   * Opens a page until it shows what is waited for. A machine without the browser skips the test.
   *
   * @param folder where the browser keeps its files
   * @param shows checks the elements of the page after its scripts have called the API
   */
  static void awaitPage(Path folder, Aggregator aggregator, String path, Predicate<String> shows)
      throws Exception {
    assumeTrue(isInstalled(), "chromium is not on the PATH (Debian: apt-get install chromium)");
    String[] last = {""};
    Await.until(
        () -> path + " to show what is expected; it shows " + last[0],
        () -> {
          last[0] = page(folder, "http://127.0.0.1:" + aggregator.reportsPort() + path);
          return shows.test(last[0]);
        });
  }

  private static String page(Path folder, String url) throws Exception {
    Path shown = Files.createTempFile(folder, "page-", ".html");
    Process browser =
        new ProcessBuilder(
                List.of(
                    "chromium",
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--lang=en-US",
                    "--user-data-dir=" + Files.createTempDirectory(folder, "browser-"),
                    // time of the page's own, which stands still while it waits for an answer
                    "--virtual-time-budget=1000",
                    "--dump-dom",
                    url))
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .redirectOutput(shown.toFile())
            .start();
    try {
      assertTrue(
          browser.waitFor(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS), "chromium does not end");
      return Files.readString(shown, StandardCharsets.UTF_8);
    } finally {
      browser.destroyForcibly();
    }
  }

  private static boolean isInstalled() {
    String path = System.getenv().getOrDefault("PATH", "");
    return Stream.of(path.split(Pattern.quote(File.pathSeparator), -1))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "chromium")));
  }
}
