// SPDX-License-Identifier: Apache-2.0
package io.weir.testing.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Finds phrases that make readers read a sentence twice, in product code and in the docs. It
 * catches relapses only; see docs/contributing.md for the rule.
 */
final class PlainEnglishTest {
  private static final Pattern BANNED =
      Pattern.compile(
          "\\b(whoever|nobody|anew|beside|tells|told|goodbye|mends?|mended|is away|are away"
              + "|what is of|whereof)\\b",
          Pattern.CASE_INSENSITIVE);

  private static final Pattern TEXT = Pattern.compile(".*\\.(java|lua|md|yml|yaml|html|sh|py)");

  private static final Set<String> FOLDERS =
      Set.of(
          "access",
          "cli",
          "clients",
          "decision-cache",
          "deploy",
          "docs",
          "ingest-api",
          "limits",
          "streams-aggregator",
          "tools/servers",
          "topics");

  /** Lines that may have a phrase: names of decisions and of a constant. */
  private static final List<String> EXCEPTIONS =
      List.of("-do-not-tell-of", "0032-callers-tokens-beside-the-calls", "NOBODY");

  @Test
  void productAndDocs_haveNoBannedPhrase() throws IOException {
    List<String> found = new ArrayList<>();
    for (String folder : FOLDERS) {
      try (Stream<Path> files = Files.walk(Checkout.file(folder))) {
        for (Path file : files.filter(PlainEnglishTest::isText).toList()) {
          for (String line : Files.readAllLines(file)) {
            if (BANNED.matcher(line).find() && EXCEPTIONS.stream().noneMatch(line::contains)) {
              found.add(Checkout.root().relativize(file) + ": " + line.strip());
            }
          }
        }
      }
    }
    assertEquals(List.of(), found);
  }

  private static boolean isText(Path file) {
    String path = file.toString();
    return Files.isRegularFile(file)
        && TEXT.matcher(path).matches()
        && !path.contains("/target/")
        && !path.contains("/src/test/");
  }
}
