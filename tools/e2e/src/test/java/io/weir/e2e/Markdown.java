// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the pages of the documentation. */
final class Markdown {
  static final Path ROOT = Checkout.root();
  static final Path OPERATE = Checkout.file("docs/operate");

  /** The pages of the HTTP APIs. */
  static final Path API = ROOT.resolve("docs").resolve("api");

  /** The pages of the topics. */
  static final Path TOPICS = ROOT.resolve("docs").resolve("topics");

  private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.+)$");
  private static final Pattern CODE_BLOCK = Pattern.compile("(?s)```.*?```");
  private static final Pattern CODE_SPAN = Pattern.compile("`([^`]+)`");

  private Markdown() {}

  /** Returns all pages of the repository. */
  static List<Path> pages() throws IOException {
    return files(Pattern.compile(".*\\.md"));
  }

  /** Returns the files of the repository whose names match, except what a build creates. */
  static List<Path> files(Pattern name) throws IOException {
    List<Path> found = new ArrayList<>();
    Files.walkFileTree(
        ROOT,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            String simple = folder.getFileName().toString();
            return simple.equals("target") || simple.equals(".git") || simple.equals(".weir")
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (name.matcher(file.getFileName().toString()).matches()) {
              found.add(file);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return found;
  }

  /** Returns the pages that are directly in a folder. */
  static List<Path> pagesIn(Path folder) throws IOException {
    return pages().stream().filter(page -> folder.equals(page.getParent())).toList();
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

  /** Returns the text between backticks on one line, without code blocks. */
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
