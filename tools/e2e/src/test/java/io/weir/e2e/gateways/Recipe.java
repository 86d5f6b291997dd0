// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.gateways;

import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the recipes that the documentation gives. */
final class Recipe {
  private static final Path PAGE = Checkout.file("docs/gateways.md");
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```([a-z]*)\n(.*?)^```$");
  private static final Pattern SETTING = Pattern.compile("(?m)^(WEIR_[A-Z_]+)=(.+)$");

  private Recipe() {}

  /** Returns the blocks of a language, in their order. */
  static List<String> blocks(String language) throws IOException {
    List<String> blocks = new ArrayList<>();
    Matcher block = BLOCK.matcher(Files.readString(PAGE));
    while (block.find()) {
      if (block.group(1).equals(language)) {
        blocks.add(block.group(2));
      }
    }
    return blocks;
  }

  /** Returns the settings of the ingest nodes. */
  static Map<String, String> settings() throws IOException {
    return settings("WEIR_AUTHZ_API_KEY_HEADER=");
  }

  /** Returns the settings of the ingest nodes in the block that has a certain one. */
  static Map<String, String> settings(String one) throws IOException {
    Map<String, String> settings = new TreeMap<>();
    String block =
        blocks("").stream()
            .filter(each -> each.contains(one))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException(PAGE + " has no " + one));
    Matcher setting = SETTING.matcher(block);
    while (setting.find()) {
      settings.put(setting.group(1), setting.group(2));
    }
    return settings;
  }

  /**
   * Returns the text with other addresses and names than those of the page.
   *
   * @throws IllegalStateException if the page has none of one of them
   */
  static String with(String text, Map<String, String> replacements) {
    String replaced = text;
    for (Map.Entry<String, String> each : replacements.entrySet()) {
      if (!replaced.contains(each.getKey())) {
        throw new IllegalStateException(PAGE + " has no '" + each.getKey() + "' any more");
      }
      replaced = replaced.replace(each.getKey(), each.getValue());
    }
    return replaced;
  }
}
