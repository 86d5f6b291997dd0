// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.problem;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The sections of {@code docs/problems.md}, one per problem reason. The problem type is the path of
 * the section's page. Thread-safe.
 */
public final class ProblemPages {
  /** The media type of the pages, which every browser displays. */
  public static final String MEDIA_TYPE = "text/plain; charset=utf-8";

  private static final Pattern SECTION = Pattern.compile("(?ms)^## (\\S+)$.*?(?=^## |\\z)");
  private static final String RESOURCE = "problems.md";

  private final Map<String, String> pages;

  private ProblemPages(Map<String, String> pages) {
    this.pages = Map.copyOf(pages);
  }

  /** Loads the pages from the class path. */
  public static ProblemPages load() {
    try (InputStream file =
        Objects.requireNonNull(ProblemPages.class.getResourceAsStream(RESOURCE), RESOURCE)) {
      return of(new String(file.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(RESOURCE, unreadable);
    }
  }

  static ProblemPages of(String markdown) {
    Map<String, String> pages = new HashMap<>();
    Matcher section = SECTION.matcher(markdown);
    while (section.find()) {
      pages.put(section.group(1), section.group().strip());
    }
    return new ProblemPages(pages);
  }

  /** Returns the page of the reason with the given word; null if there is no such reason. */
  public @Nullable String page(String word) {
    return pages.get(word);
  }

  /** Returns the words of all reasons that have a page. */
  Set<String> words() {
    return pages.keySet();
  }
}
