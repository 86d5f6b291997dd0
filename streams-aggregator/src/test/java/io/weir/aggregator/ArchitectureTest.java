// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Who may depend on whom. */
final class ArchitectureTest {
  private static JavaClasses classes;

  @BeforeAll
  static void read() {
    classes =
        new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
            .importPackages("io.weir.aggregator");
  }

  @Test
  void countingRules_dependOnModelAndWireAlone() {
    classes()
        .that()
        .resideInAPackage("io.weir.aggregator.count")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java.lang..",
            "java.nio",
            "java.nio.charset",
            "java.util..",
            "org.jspecify..",
            "io.weir.limits..",
            "io.weir.topics.model",
            "io.weir.topics.wire",
            "io.weir.aggregator.count")
        .check(classes);
  }

  @Test
  void javalin_isKnownToReportsAlone() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.weir.aggregator.report..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.javalin..", "org.eclipse.jetty..", "jakarta.servlet..")
        .check(classes);
  }

  @Test
  void topologies_doNotKnowReports() {
    noClasses()
        .that()
        .resideInAPackage("io.weir.aggregator.topology..")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.weir.aggregator.report..")
        .check(classes);
  }

  @Test
  void otherSide_isNeverMet() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.weir.ingest..", "io.weir.decision..")
        .check(classes);
  }

  @Test
  void environment_isReadByMainAlone() {
    noClasses()
        .that()
        .doNotHaveSimpleName("AggregatorMain")
        .should()
        .callMethod(System.class, "getenv")
        .orShould()
        .callMethod(System.class, "getenv", String.class)
        .check(classes);
  }

  @Test
  void threads_neverSleep() {
    noClasses().should().callMethod(Thread.class, "sleep", long.class).check(classes);
  }

  @Test
  void packages_haveNoCycles() {
    slices().matching("io.weir.aggregator.(*)..").should().beFreeOfCycles().check(classes);
  }
}
