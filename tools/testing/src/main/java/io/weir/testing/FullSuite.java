// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * Marks an integration test class or method that runs only with {@code ./weir test --full}, or if
 * the command names the class. Such a test takes too long to run for every change. A shorter test
 * without this annotation must check the same behaviour.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@Tag("full")
public @interface FullSuite {
  /**
   * Returns the reason why other runs omit this test, and the name of a test that checks the same
   * behaviour there.
   */
  String reason();
}
