// SPDX-License-Identifier: Apache-2.0
package io.weir.limits;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** Checks that this module depends on no other module, and on no input or output. */
final class DependenciesTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
          .importPackages("io.weir.limits");

  @Test
  void limits_dependOn_theJdkOnly() {
    classes()
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage("java..", "org.jspecify..", "io.weir.limits..")
        .check(CLASSES);
  }

  @Test
  void limits_knowNoThreadFileOrNetwork() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("java.util.concurrent..", "java.io..", "java.net..", "java.nio.file..")
        .check(CLASSES);
  }

  @Test
  void limits_askForNeitherTimeNorEnvironment() {
    noClasses()
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(java.time.Instant.class, "now")
        .orShould()
        .callMethod(System.class, "getenv", String.class)
        .check(CLASSES);
  }

  @Test
  void packages_areFreeOfCycles() {
    slices().matching("io.weir.limits.(*)..").should().beFreeOfCycles().check(CLASSES);
  }
}
