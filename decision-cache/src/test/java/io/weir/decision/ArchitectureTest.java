// SPDX-License-Identifier: Apache-2.0
package io.weir.decision;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tests which packages of this module may import each other. */
class ArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
          .importPackages("io.weir.decision");

  @Test
  void port_dependsOnLimitsAlone() {
    classes()
        .that()
        .resideInAPackage("io.weir.decision")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage("java..", "org.jspecify..", "io.weir.limits..", "io.weir.decision")
        .check(CLASSES);
  }

  @Test
  void port_knowsNoThreadFileOrNetwork() {
    noClasses()
        .that()
        .resideInAPackage("io.weir.decision")
        .should()
        .dependOnClassesThat(
            resideInAnyPackage(
                    "java.util.concurrent..", "java.io..", "java.net..", "java.nio.file..")
                .and(not(type(CompletableFuture.class))))
        .check(CLASSES);
  }

  @Test
  void memory_dependsOnThePortAndItsArithmeticAlone() {
    classes()
        .that()
        .resideInAPackage("..memory..")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..",
            "org.jspecify..",
            "io.weir.limits..",
            "io.weir.decision",
            "io.weir.decision.correction",
            "io.weir.decision.memory")
        .check(CLASSES);
  }

  @Test
  void correction_dependsOnTheModelAndTheArithmeticAlone() {
    classes()
        .that()
        .resideInAPackage("io.weir.decision.correction")
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..",
            "org.jspecify..",
            "io.weir.limits..",
            "io.weir.topics.model",
            "io.weir.decision",
            "io.weir.decision.correction")
        .check(CLASSES);
  }

  @Test
  void lettuce_isKnownToTheRedisPackageAlone() {
    noClasses()
        .that()
        .resideOutsideOfPackage("..redis..")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.lettuce..", "io.netty..")
        .check(CLASSES);
  }

  @Test
  void module_knowsNoKafkaHttpOrOtherModule() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(
            "org.apache.kafka..",
            "io.javalin..",
            "io.weir.ingest..",
            "io.weir.aggregator..",
            "io.weir.cli..",
            "java.util.logging..")
        .check(CLASSES);
  }

  @Test
  void clocks_areReadInOnePlace() {
    noClasses()
        .that()
        .doNotHaveSimpleName("NanoClock")
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(java.time.Instant.class, "now")
        .orShould()
        .callMethod(Thread.class, "sleep", long.class)
        .orShould()
        .callMethod(System.class, "getenv", String.class)
        .check(CLASSES);
  }

  @Test
  void packages_haveNoCycles() {
    slices().matching("io.weir.decision.(*)..").should().beFreeOfCycles().check(CLASSES);
  }
}
