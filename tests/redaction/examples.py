"""Secrets and texts that only look like them, for the tests of redaction."""

RANDOM = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC3dE5f"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA" + "x" * 48 + "\n" + "y" * 64 + "\n-----END RSA PRIVATE KEY-----"

EXAMPLES = {
    "private key": [
        PEM,
        "-----BEGIN PRIVATE KEY-----\n+" + "x" * 64 + "\n+" + "y" * 10 + "\n-----END PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b" * 70 + "\n" + "b" * 12,
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\nabc=\n-----END PGP PRIVATE KEY BLOCK-----",
    ],
    "JSON web token": [f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{RANDOM}"],
    "Anthropic key": [f"sk-ant-api03-{RANDOM}-_{RANDOM}"],
    "API key": [f"sk-{RANDOM}", f"sk-proj-{RANDOM}", f"sk-or-v1-{RANDOM}", f"gsk_{RANDOM}", f"xai-{RANDOM}", f"nvapi-{RANDOM}"],
    "Google key": [f"AIza{RANDOM[:35]}", f"ya29.{RANDOM}", f"GOCSPX-{RANDOM}"],
    "AWS key": ["AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"],
    "GitHub token": [f"ghp_{RANDOM}", f"gho_{RANDOM}", f"ghs_{RANDOM}", f"github_pat_11AB_{RANDOM}"],
    "GitLab token": [f"glpat-{RANDOM[:20]}"],
    "Slack token": ["xoxb-" + "123456789012-abcdefGHIJ", "xapp-" + "1-A012345-987654-abcdef"],
    "Stripe key": [f"sk_live_{RANDOM[:24]}", f"rk_test_{RANDOM[:24]}", f"whsec_{RANDOM}"],
    "Hugging Face token": [f"hf_{RANDOM[:34]}"],
    "package index token": [f"npm_{RANDOM[:36]}", f"pypi-{RANDOM}{RANDOM}"],
    "SendGrid key": [f"SG.{RANDOM[:22]}.{RANDOM}"],
    "cloud token": ["dop_v1_" + "0a" * 32, "dapi" + "0a" * 16, f"hvs.{RANDOM}"],
}
"""Secrets that are one by themselves."""

NAMED = {
    "postgres://me:hunter2@db/x": "postgres://me:[redacted password]@db/x",
    "git clone https://oauth2:s3cr3t!@host/a.git": "git clone https://oauth2:[redacted password]@host/a.git",
    "Authorization: Bearer abcdef0123456789": "Authorization: Bearer [redacted bearer token]",
    "curl -H 'authorization: Basic dXNlcjpwYXNz' x": "curl -H 'authorization: Basic [redacted password]' x",
    "DefaultEndpoints;AccountKey=" + "a1/+" * 20 + "==": "DefaultEndpoints;AccountKey=[redacted storage key]",
    "https://x.blob/y?sv=1&sig=abc%2Fdefghijklmnopqrs&se=2": "https://x.blob/y?sv=1&sig=[redacted signature]&se=2",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG": "aws_secret_access_key = [redacted secret]",
    "password: 'correct horse'": "password: '[redacted secret]'",
    '{\\"apiKey\\": \\"abcd\\"}': '{\\"apiKey\\": \\"[redacted secret]\\"}',
    "a\n  export DB_PASSWORD=letmein\nb": "a\n  export DB_PASSWORD=[redacted secret]\nb",
    "SLACK_TOKEN=abcdef": "SLACK_TOKEN=[redacted secret]",
    "BIP39: legal winner thank year wave sausage worth useful legal winner thank yellow": "BIP39: [redacted seed phrase]",
    "net user bob /pass:letmein /add": "net user bob /pass:[redacted secret] /add",
    '"cmdkey", "/add:host", "/PASS:letmein"': '"cmdkey", "/add:host", "/PASS:[redacted secret]"',
}
"""Secrets that what is around them gives away."""

HARMLESS = [
    "token: str = field()",
    "max_tokens=4096, input_tokens: 12345678",
    "password = getpass.getpass()",
    "password: config.db1.password",
    "privateKey: Uint8Array,",
    "API_KEY=$OTHER_KEY",
    "net user bob /pass:%PASSWORD%",
    "cmdkey /add:host /pass:<password>",
    "/pass:PASSWORD sets the password, /pass: asks for it",
    "src/pass:main.c, https://x.dev/pass:word",
    "api_key=os.environ['KEY1']",
    "task-sk-loading-indicator-wrapper",
    "the bearer of bad news, or bearer authentication-schemes",
    "http://localhost:8080/@scope/name",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "grep -- '-----BEGIN PRIVATE KEY-----' file",
    "reference=" + "0a" * 32,
    "sha256:" + "0a" * 32,
    "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg" * 5,
]
"""Texts that only look like it."""
