// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Reads the pages of the documentation. */
final class Markdown {
  static final Path ROOT = Path.of("..");
  static final Path OPERATE = ROOT.resolve("docs").resolve("operate");

  /** The pages of the HTTP APIs. */
  static final Path API = ROOT.resolve("docs").resolve("api");

  /** The pages of the topics. */
  static final Path TOPICS = ROOT.resolve("docs").resolve("topics");

  private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.+)$");
  private static final Pattern CODE_BLOCK = Pattern.compile("(?s)```.*?```");
  private static final Pattern CODE_SPAN = Pattern.compile("`([^`]+)`");

  private Markdown() {}

  /** Returns all pages: of the docs folder and its folders, and of the modules. */
  static List<Path> pages() throws IOException {
    List<Path> pages = new ArrayList<>(pagesIn(ROOT));
    try (Stream<Path> files = Files.walk(ROOT.resolve("docs"))) {
      for (Path folder : files.filter(Files::isDirectory).toList()) {
        pages.addAll(pagesIn(folder));
      }
    }
    try (Stream<Path> modules = Files.list(ROOT)) {
      for (Path module : modules.filter(path -> Files.exists(path.resolve("src"))).toList()) {
        pages.addAll(pagesIn(module));
      }
    }
    return pages;
  }

  /** Returns the pages that lie in a folder itself. */
  static List<Path> pagesIn(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith(".md")).toList();
    }
  }

  /** Returns the text of all pages in a folder. */
  static String textOf(Path folder) throws IOException {
    StringBuilder text = new StringBuilder();
    for (Path page : pagesIn(folder)) {
      text.append(Files.readString(page)).append('\n');
    }
    return text.toString();
  }

  /** The page without its blocks of code. */
  static String withoutBlocks(String page) {
    return CODE_BLOCK.matcher(page).replaceAll("");
  }

  /** What stands between backticks on one line of the text, without blocks of code. */
  static Set<String> codeSpans(String page) {
    return matches(CODE_SPAN, withoutBlocks(page));
  }

  /** Every match of a pattern's first group. */
  static Set<String> matches(Pattern pattern, String text) {
    Set<String> found = new TreeSet<>();
    Matcher matcher = pattern.matcher(text);
    while (matcher.find()) {
      found.add(matcher.group(1));
    }
    return found;
  }

  /** The names under which the headings of a page can be linked to. */
  static Set<String> anchors(String page) {
    Set<String> anchors = new TreeSet<>();
    for (String heading : matches(HEADING, withoutBlocks(page))) {
      String words = heading.toLowerCase(Locale.ROOT).strip();
      anchors.add(words.replaceAll("[^\\p{L}\\p{N}_ -]", "").replace(' ', '-'));
    }
    return anchors;
  }
}
