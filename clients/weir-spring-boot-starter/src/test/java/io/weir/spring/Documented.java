// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The configuration files in the page {@code docs/java.md}. Tests run them, so that the page is
 * correct.
 */
final class Documented {
  static final Path PAGE = Checkout.file("docs/java.md");
  private static final Pattern BLOCK =
      Pattern.compile("^```yml\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL);

  private Documented() {}

  /**
   * Writes a file of the page into a folder, and returns the property that names the file.
   *
   * @param number number of the file, from 0
   * @param address address that replaces the application's address
   */
  static String file(Path folder, int number, String address) throws IOException {
    List<String> blocks = new ArrayList<>();
    Matcher block = BLOCK.matcher(Files.readString(PAGE));
    while (block.find()) {
      blocks.add(block.group(1));
    }
    Path written =
        Files.writeString(
            folder.resolve("documented-" + number + ".yml"),
            blocks.get(number).replace("http://10.0.0.21:8000", address));
    return "spring.config.location=" + written.toUri();
  }
}
