// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the documentation quotes of the samples stands in them, line by line. */
final class SampleQuotesTest {
  private static final Path ROOT = Path.of("..");
  private static final Map<String, String> SAMPLES =
      Map.of(
          "python", "billing.py",
          "bash", "ledger.sh",
          "java", "BillingJob.java",
          "yaml", "stripe.yml");
  private static final Pattern QUOTE =
      Pattern.compile(
          "^```(python|bash|java|yaml)\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);
  private static final Pattern NAMED = Pattern.compile("samples/([A-Za-z-]+\\.[a-z]+)");

  @ParameterizedTest
  @ValueSource(strings = {"README.md", "docs/billing.md"})
  void quotesOfAPage_standInTheSample(String page) throws IOException {
    Matcher quote = QUOTE.matcher(Files.readString(ROOT.resolve(page)));
    while (quote.find()) {
      String sample = SAMPLES.get(quote.group(1));
      List<String> quoted = quote.group(2).lines().toList();
      assertTrue(
          stands(quoted, Files.readAllLines(ROOT.resolve("samples").resolve(sample))),
          () -> page + " quotes what is not in " + sample + ":\n" + String.join("\n", quoted));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"README.md", "docs/billing.md"})
  void samplesThatAreNamed_exist(String page) throws IOException {
    Set<String> named = new TreeSet<>();
    Matcher name = NAMED.matcher(Files.readString(ROOT.resolve(page)));
    while (name.find()) {
      named.add(name.group(1));
      assertTrue(Files.exists(ROOT.resolve("samples").resolve(name.group(1))), name.group());
    }
    assertEquals(new TreeSet<>(SAMPLES.values()), named);
  }

  @Test
  void aQuoteThatHasChanged_isFound() {
    List<String> sample = List.of("a:", "  if b:", "    c()", "    d()");

    assertTrue(stands(List.of("if b:", "  c()"), sample));
    assertTrue(!stands(List.of("if b:", "  d()"), sample));
    assertTrue(!stands(List.of("if b:", "c()"), sample));
  }

  /** Whether lines stand in a file one after another, at any common indentation. */
  private static boolean stands(List<String> quoted, List<String> file) {
    String wanted = String.join("\n", quoted).stripIndent();
    for (int begin = 0; begin + quoted.size() <= file.size(); begin++) {
      List<String> there = file.subList(begin, begin + quoted.size());
      if (String.join("\n", there).stripIndent().equals(wanted)) {
        return true;
      }
    }
    return false;
  }
}
