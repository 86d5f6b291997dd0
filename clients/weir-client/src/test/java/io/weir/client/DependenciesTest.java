// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** Tests that the client depends on no other module of Weir. */
final class DependenciesTest {
  @Test
  void client_dependsOn_theJdkAndJacksonOnly() {
    classes()
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..", "org.jspecify..", "com.fasterxml.jackson..", "io.weir.client..")
        .check(
            new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_JARS)
                .importPackages("io.weir.client"));
  }
}
