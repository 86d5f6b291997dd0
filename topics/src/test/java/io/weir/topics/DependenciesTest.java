// SPDX-License-Identifier: Apache-2.0
package io.weir.topics;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** Tests which packages of this module may import each other. */
final class DependenciesTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
          .importPackages("io.weir.topics");

  @Test
  void model_dependsOn_limitsOnly() {
    classes()
        .that()
        .resideInAnyPackage("io.weir.topics.model", "io.weir.topics.settings")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..",
            "org.jspecify..",
            "io.weir.limits..",
            "io.weir.topics.model",
            "io.weir.topics.settings")
        .check(CLASSES);
  }

  @Test
  void wire_dependsOn_modelAndJsonOnly() {
    classes()
        .that()
        .resideInAPackage("io.weir.topics.wire")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..",
            "org.jspecify..",
            "com.fasterxml.jackson.core..",
            "io.weir.limits..",
            "io.weir.topics.model",
            "io.weir.topics.wire")
        .check(CLASSES);
  }

  @Test
  void calls_dependsOn_modelWireAndProtobufOnly() {
    classes()
        .that()
        .resideInAPackage("io.weir.topics.calls")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..",
            "org.jspecify..",
            "com.google.protobuf..",
            "io.weir.limits..",
            "io.weir.topics.model",
            "io.weir.topics.wire",
            "io.weir.topics.calls")
        .check(CLASSES);
  }

  @Test
  void noClass_readsTheTimeOrTheEnvironment() {
    noClasses()
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(System.class, "getenv")
        .orShould()
        .callMethod(System.class, "getenv", String.class)
        .check(CLASSES);
  }

  @Test
  void packages_areFreeOfCycles() {
    slices().matching("io.weir.topics.(*)..").should().beFreeOfCycles().check(CLASSES);
  }
}
