// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.Topics;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every event, metric, variable and route that the docs name exists. */
final class DocsTest {
  /** Events of the log, members of answers and fields: words joined by underscores. */
  private static final Pattern JOINED_WORDS = Pattern.compile("[a-z]+(_[a-z]+)+");

  /** Events of the log that are several words. */
  private static final Pattern SEVERAL_WORDS = Pattern.compile("[a-z]+( [a-z]+)+");

  private static final Pattern METRIC = Pattern.compile("(weir|jvm|kafka|lettuce|jetty)_");
  private static final Pattern VARIABLE = Pattern.compile("\\b(WEIR_[A-Z_]*[A-Z])\\b");
  private static final Pattern ROUTE = Pattern.compile("^(/(?:v1|health|metrics)[a-z/]*)");

  private static final Pattern COMMAND =
      Pattern.compile(
          "(?m)(?:`|^)(?:\\./)?weir\\s+([a-z]+(?:\\s+(?:create|check|explain|list|replay|tail))?)");

  private static final Pattern MODULE = Pattern.compile("<module>([^<]+)</module>");
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");

  private static final int MAX_LINE = 120;
  private static final int MAX_CELL_WORDS = 30;
  private static final int MAX_PAGE_WORDS = 5000;
  private static final int MAX_README_WORDS = 350;

  private static final Pattern WORD = Pattern.compile("([A-Za-z_]+)");

  private static String sources;
  private static Set<String> words;
  private static String operate;

  @BeforeAll
  static void read() throws IOException {
    StringBuilder all = new StringBuilder();
    for (Path source : Markdown.files(Pattern.compile(".*\\.(java|lua|html|xml)"))) {
      if (source.toString().contains("/src/main/")) {
        all.append(Files.readString(source)).append('\n');
      }
    }
    for (String script :
        List.of("weir", ".ci/run", "docker-compose.yml", "deploy/docker/Dockerfile")) {
      all.append(Files.readString(Markdown.ROOT.resolve(script))).append('\n');
    }
    sources = all.toString();
    words = Markdown.matches(WORD, sources);
    operate = Markdown.textOf(Markdown.OPERATE);
  }

  /** Words joined by underscores may be those of a constant, too. */
  private static boolean isInSources(String name) {
    return name.contains(" ")
        ? sources.contains(name)
        : words.contains(name) || words.contains(name.toUpperCase(Locale.ROOT));
  }

  @Test
  void everyEventThatARunbookNames_isLogged() {
    Set<String> unknown = new TreeSet<>();
    for (String span : Markdown.codeSpans(operate)) {
      boolean isName =
          JOINED_WORDS.matcher(span).matches()
              || (SEVERAL_WORDS.matcher(span).matches() && !span.startsWith("weir "));
      boolean isMetric = METRIC.matcher(span).lookingAt();
      if (isName && !isMetric && !isInSources(span)) {
        unknown.add(span);
      }
    }
    assertTrue(unknown.isEmpty(), () -> "named in docs/operate, in no source: " + unknown);
  }

  @Test
  void everyVariable_isRead() throws IOException {
    for (Path page : Markdown.pages()) {
      for (String variable : Markdown.matches(VARIABLE, Files.readString(page))) {
        assertTrue(words.contains(variable), () -> page + " names " + variable);
      }
    }
  }

  @Test
  void everyRoute_isAnswered() {
    for (String span : Markdown.codeSpans(operate)) {
      Matcher route = ROUTE.matcher(span);
      if (route.find()) {
        assertTrue(
            sources.contains('"' + route.group(1)), () -> "docs/operate names " + route.group(1));
      }
    }
  }

  /** Regression: {@code blocked} stood in no table, and the word was said to be absent at times. */
  @Test
  void everyReason_isOnTheApiPages_withItsStatus_andAmongTheProblems() throws IOException {
    String api = Markdown.textOf(Markdown.API);
    String problems = Files.readString(Markdown.ROOT.resolve("docs").resolve("problems.md"));
    for (ProblemReason reason : ProblemReason.values()) {
      String status =
          reason == ProblemReason.MALFORMED_REQUEST ? "4xx" : Integer.toString(reason.status());
      assertTrue(
          api.lines()
              .anyMatch(line -> line.contains('`' + reason.word() + '`') && line.contains(status)),
          () -> "docs/api has no " + status + " " + reason.word());
      assertTrue(
          problems.contains("## " + reason.word() + "\n**" + status + ".**"),
          () -> "problems.md has no " + status + " " + reason.word());
    }
  }

  /** Regression: the topic of corrections stood in no table. */
  @Test
  void everyTopic_isInTheTableOfTopics_withRetention_andHasASection() throws IOException {
    String topics = Markdown.textOf(Markdown.TOPICS);
    for (Topic topic : Topics.all()) {
      String row =
          topics
              .lines()
              .filter(line -> line.startsWith("| `" + topic.name() + "` |"))
              .findFirst()
              .orElseThrow(() -> new AssertionError("docs/topics has no row of " + topic.name()));
      for (String policy : topic.cleanupPolicy().split(",", -1)) {
        assertTrue(row.contains(policy), row);
      }
      long days = topic.retention().toDays();
      assertTrue(days == 0 || row.contains(days + " days"), row);
      boolean hasSection =
          topics
              .lines()
              .anyMatch(line -> line.startsWith("#") && line.contains('`' + topic.name() + '`'));
      assertTrue(hasSection, topic.name());
    }
  }

  @Test
  void everyMemberOfReadiness_isOnTheHealthPage() throws IOException {
    String health = Files.readString(Markdown.API.resolve("health.md"));
    Set<String> members =
        Markdown.matches(
            Pattern.compile("put(?:Object)?\\(\"([a-z_]+)\""),
            Files.readString(
                Markdown.ROOT.resolve(
                    "ingest-api/src/main/java/io/weir/ingest/http/HealthBody.java")));

    assertTrue(members.contains("ok"), members::toString);
    for (String member : members) {
      assertTrue(
          health.contains('"' + member + '"'), () -> "/health/ready has " + member + ", too");
    }
  }

  @Test
  void everyCommand_exists() throws IOException {
    for (Path page : Markdown.pages()) {
      for (String command : Markdown.matches(COMMAND, Files.readString(page))) {
        for (String word : command.split("\\s+", -1)) {
          boolean isCommand = sources.contains("name = \"" + word + '"');
          boolean isOfTheScript =
              Pattern.compile("(?m)^  (\\w+ \\| )*" + word + "( \\| \\w+)*\\)$")
                  .matcher(sources)
                  .find();
          assertTrue(isCommand || isOfTheScript, () -> page + " names weir " + command);
        }
      }
    }
  }

  /** Keeps each page short enough to be read in one sitting. */
  @Test
  void everyPage_isShort_withShortLinesAndCells() throws IOException {
    for (Path page : Markdown.pages()) {
      int count = 0;
      boolean isCode = false;
      for (String line : Files.readAllLines(page)) {
        count += wordsOf(line);
        isCode ^= line.startsWith("```");
        boolean isShort = isCode || line.length() <= MAX_LINE; // code is quoted as it is
        assertTrue(isShort, () -> page + " has a long line: " + line);
        if (line.startsWith("|")) {
          for (String cell : line.split("\\|", -1)) {
            assertTrue(wordsOf(cell) <= MAX_CELL_WORDS, () -> page + " has a long cell: " + cell);
          }
        }
      }
      int total = count;
      assertTrue(total <= MAX_PAGE_WORDS, () -> page + " has " + total + " words");
    }
  }

  @Test
  void everyModule_hasAReadmeOfOnePage() throws IOException {
    for (Path readme : moduleReadmes()) {
      assertTrue(Files.exists(readme), () -> "no " + readme);
      int count = wordsOf(Files.readString(readme));
      boolean hasFigures = readme.endsWith("benchmarks/README.md"); // those of each part
      boolean isOnePage = hasFigures || count <= MAX_README_WORDS;
      assertTrue(isOnePage, () -> readme + " has " + count + " words");
    }
  }

  private static List<Path> moduleReadmes() throws IOException {
    return Markdown.matches(MODULE, Files.readString(Markdown.ROOT.resolve("pom.xml"))).stream()
        .filter(module -> !module.equals("clients/samples/connect"))
        .map(module -> Markdown.ROOT.resolve(module).resolve("README.md"))
        .toList();
  }

  private static int wordsOf(String text) {
    return text.isBlank() ? 0 : text.strip().split("\\s+", -1).length;
  }

  @Test
  void everyLink_leadsToAPage_andToAHeadingOfIt() throws IOException {
    int followed = 0;
    for (Path page : Markdown.pages()) {
      for (String link : Markdown.matches(LINK, Markdown.withoutBlocks(Files.readString(page)))) {
        if (link.matches("[a-z]+:.*")) {
          continue; // elsewhere
        }
        followed++;
        String file = link.replaceFirst("#.*", "");
        Path target = file.isEmpty() ? page : page.resolveSibling(file);
        assertTrue(Files.exists(target), () -> page + " links to " + link);
        if (link.contains("#") && target.toString().endsWith(".md")) {
          String anchor = link.substring(link.indexOf('#') + 1);
          assertTrue(
              Markdown.anchors(Files.readString(target)).contains(anchor),
              () -> page + " links to " + link);
        }
      }
    }
    assertFalse(followed == 0);
  }
}
