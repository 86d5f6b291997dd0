// SPDX-License-Identifier: Apache-2.0
package io.weir.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * Marks an integration test class or method that {@code ./weir test} runs. These tests check one
 * code path of each kind. Together with the unit tests, they take a few minutes. {@code ./weir test
 * --all} also runs integration tests without a mark.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@Tag("core")
public @interface CoreSuite {}
