// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.weir.testing.Checkout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The page of third-party licences names every library of the runtime. */
final class ThirdPartyTest {
  private static final Path LIBRARIES = Checkout.file("cli/target/lib");

  @Test
  void runtime_everyLibrary_isNamedWithItsLicence() throws Exception {
    String page = Files.readString(Checkout.file("docs/third-party.md"));
    List<String> artifacts;
    try (Stream<Path> jars = Files.list(LIBRARIES)) {
      artifacts =
          jars.map(jar -> jar.getFileName().toString())
              .filter(jar -> !jar.contains("-SNAPSHOT"))
              .map(jar -> jar.replaceFirst("-\\d.*", ""))
              .distinct()
              .toList();
    }

    assertFalse(artifacts.isEmpty(), "cli/target/lib is empty; build with mvn package");
    assertEquals(
        List.of(),
        artifacts.stream().filter(artifact -> !page.contains(":" + artifact + "\n")).toList());
  }
}
