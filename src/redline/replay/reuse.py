def kind_of(call):
    return "other"


def chance_of_use(kind, age):
    return 0.1
