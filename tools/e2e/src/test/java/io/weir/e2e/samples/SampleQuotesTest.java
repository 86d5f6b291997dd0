// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Checkout;
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

/** The samples contain every line that the docs quote from them. */
final class SampleQuotesTest {
  private static final Path ROOT = Checkout.root();
  private static final Set<String> BILLING =
      Set.of("billing.py", "ledger.sh", "BillingJob.java", "stripe.yml");
  private static final Map<String, Set<String>> SAMPLES =
      Map.of(
          "docs/billing.md",
          BILLING,
          "docs/java.md",
          Set.of("check.py", "check.mjs", "EmbeddedLimiter.java", "LimitedApi.java"));
  private static final Map<String, String> ENDINGS =
      Map.of("python", ".py", "bash", ".sh", "java", ".java", "yaml", ".yml", "javascript", ".mjs");
  private static final Pattern QUOTE =
      Pattern.compile(
          "^```(python|bash|java|yaml|javascript)\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);
  private static final Pattern NAMED = Pattern.compile("samples/([A-Za-z-]+\\.[a-z]+)");

  @ParameterizedTest
  @ValueSource(strings = {"docs/billing.md", "docs/java.md"})
  void quotesOfAPage_standInTheSample(String page) throws IOException {
    Matcher quote = QUOTE.matcher(Files.readString(ROOT.resolve(page)));
    while (quote.find()) {
      String ending = ENDINGS.get(quote.group(1));
      List<String> quoted = quote.group(2).lines().toList();
      boolean stands = false;
      for (String sample : samplesOf(page)) {
        stands |= sample.endsWith(ending) && stands(quoted, lines(sample));
      }
      assertTrue(
          stands, () -> page + " quotes what is in no sample:\n" + String.join("\n", quoted));
    }
  }

  private static Set<String> samplesOf(String page) {
    return SAMPLES.getOrDefault(page, Set.of());
  }

  private static List<String> lines(String sample) throws IOException {
    return Files.readAllLines(ROOT.resolve("clients/samples").resolve(sample));
  }

  @ParameterizedTest
  @ValueSource(strings = {"docs/billing.md", "docs/java.md"})
  void samplesThatAreNamed_exist(String page) throws IOException {
    Set<String> named = new TreeSet<>();
    Matcher name = NAMED.matcher(Files.readString(ROOT.resolve(page)));
    while (name.find()) {
      named.add(name.group(1));
      assertTrue(
          Files.exists(ROOT.resolve("clients/samples").resolve(name.group(1))), name.group());
    }
    assertEquals(new TreeSet<>(samplesOf(page)), named);
  }

  @Test
  void aQuoteThatHasChanged_isFound() {
    List<String> sample = List.of("a:", "  if b:", "    c()", "    d()");

    assertTrue(stands(List.of("if b:", "  c()"), sample));
    assertTrue(!stands(List.of("if b:", "  d()"), sample));
    assertTrue(!stands(List.of("if b:", "c()"), sample));
  }

  /** Returns whether a file has these consecutive lines, at any common indentation. */
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
